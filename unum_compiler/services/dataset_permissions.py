"""IAM permissions of Tasks that read items or write results of a distributed Map.

Source: AWS Step Functions Developer Guide, "IAM policies for using Distributed Map states".
"""

from collections.abc import Iterator, Mapping

from unum_compiler.services.service_arns import ANY, literals, resources
from unum_compiler.services.service_permissions import Condition, Statement
from unum_runtime.aws.items import config
from unum_runtime.model.states import Json

_GET, _VERSION, _LIST, _PUT = "s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "s3:PutObject"


def dataset_statements(arguments: Mapping[str, Json]) -> Iterator[Statement]:
    """Yield IAM permissions for a data set Task.

    Values that are known only at run time make a statement wide. So does a manifest of Athena, whose files may be in
    any bucket. Files of an inventory are in the bucket of the manifest.

    Args:
        arguments: ``Parameters`` or ``Arguments`` of the Task in the IR.
    """
    action = str(arguments.get("Resource", "")).rpartition(":")[2]
    parameters, settings = arguments.get("Parameters"), arguments.get("ReaderConfig", {})
    match action:
        case "getObject":
            read = (_GET, _VERSION) if "versionid" in literals(parameters) else (_GET,)
            yield _statement(read, *resources("s3", "GetObject", parameters))
            yield from _listed_in_manifest(parameters, settings)
        case "listObjectsV2":
            # s3:ListBucket is an action on the bucket, not on its objects.
            prefix, bucket = literals(parameters).get("prefix"), _bucket(parameters)
            condition = Condition("StringEquals", "s3:prefix", (prefix,)) if prefix else None
            yield Statement((_LIST,), (bucket,), is_wide=bucket == ANY, condition=condition)
            if settings.get("Transformation") == config.LOAD:
                yield _statement((_GET,), _within(parameters, separator=""))
        case "putObject":
            yield _statement((_PUT,), _within(parameters, separator="/"))


def _listed_in_manifest(parameters: Json, settings: Mapping[str, Json]) -> Iterator[Statement]:
    if settings.get("ManifestType") == config.ATHENA:
        yield _statement((_GET,), ANY)
    elif settings.get("ManifestType") == config.INVENTORY or settings.get("InputType") == config.MANIFEST:
        yield _statement((_GET,), _below(_bucket(parameters), ""))


def _within(parameters: Json, *, separator: str) -> str:
    """Return the ARN of all objects below the known part of the prefix."""
    prefix = literals(parameters).get("prefix") or ""
    if prefix and not prefix.endswith("/"):
        prefix += separator
    return _below(_bucket(parameters), prefix)


def _below(bucket: str, prefix: str) -> str:
    return ANY if bucket == ANY else f"{bucket}/{prefix}*"


def _bucket(parameters: Json) -> str:
    fields = parameters if isinstance(parameters, dict) else {}
    bucket = {name: value for name, value in fields.items() if name.removesuffix(".$") == "Bucket"}
    return resources("s3", "ListObjectsV2", bucket)[0]


def _statement(actions: tuple[str, ...], *found: str) -> Statement:
    return Statement(actions, found, is_wide=ANY in found)
