"""Step Functions' spelling of services, operations and fields, equal to the AWS SDK for Java.

Source: the Developer Guide, "Learning to use AWS service SDK integrations in Step Functions", and the naming strategy
of the AWS SDK for Java 2.x, the origin of these names.
"""

import re
from collections.abc import Iterable
from functools import cache

_BOUNDARIES = (
    (re.compile(r"[^A-Za-z0-9]+"), " "),
    (re.compile(r"([^a-z]{2,})v([0-9]+)"), r"\1 v\2 "),
    (re.compile(r"([^A-Z]{2,})V([0-9]+)"), r"\1 V\2 "),
    (re.compile(r"(?<=[a-z])(?=[A-Z][A-Za-z0-9])"), " "),
    (re.compile(r"([A-Z]+)([A-Z][a-z])"), r"\1 \2"),
    (re.compile(r"([0-9])([A-Za-z])"), r"\1 \2"),
)
_TAKEN = re.compile(
    r"abstract|assert|boolean|break|byte|case|catch|char|class|const|continue|default|do|double|else|enum|equals"
    r"|extends|false|final|finally|float|for|goto|if|implements|import|instanceof|int|interface|long|native|new|null"
    r"|package|private|protected|public|return|short|static|strictfp|super|switch|synchronized|this|throws?|transient"
    r"|true|try|void|volatile|while"
)
"""Java keywords, forbidden as field names; such fields end in ``Value``, as in ``EqualsValue``."""

_BOTOCORE_NAMES = {
    "applicationdiscovery": "discovery",
    "cloudwatchlogs": "logs",
    "cognitoidentityprovider": "cognito-idp",
    "costandusagereport": "cur",
    "costexplorer": "ce",
    "databasemigration": "dms",
    "directory": "ds",
    "directoryservicedata": "ds-data",
    "elasticloadbalancing": "elb",
    "elasticloadbalancingv2": "elbv2",
    "elasticsearch": "es",
    "eventbridge": "events",
    "iotdataplane": "iot-data",
    "iotjobsdataplane": "iot-jobs-data",
    "lexmodelbuilding": "lex-models",
    "lexmodelsv2": "lexv2-models",
    "lexruntimev2": "lexv2-runtime",
    "marketplacemetering": "meteringmarketplace",
    "migrationhub": "mgh",
    "serverlessapplicationrepository": "serverlessrepo",
    "sfn": "stepfunctions",
    "simpledb": "sdb",
}
"""Services with different names in ``aws-sdk:`` and botocore, hyphens aside."""


@cache
def pascal(name: str) -> str:
    """Convert to PascalCase like the SDK for Java: ``DBClusterIdentifier`` becomes ``DbClusterIdentifier``."""
    for boundary, separated in _BOUNDARIES:
        name = boundary.sub(separated, name)
    return "".join(map(str.capitalize, name.split()))


@cache
def field_name(name: str) -> str:
    """Return the ``aws-sdk:`` spelling of an API field."""
    spelled = pascal(name)
    return f"{spelled}Value" if _TAKEN.fullmatch(spelled.lower()) else spelled


@cache
def fold_name(name: str) -> str:
    """Return the common form of all spellings of a field name; unique within any AWS structure."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def service_prefix(service_id: str) -> str:
    """Return the prefix of a service's error names, from the model's ``serviceId``: ``DynamoDb``."""
    return pascal(service_id).removeprefix("Amazon").removeprefix("Aws").removesuffix("Service")


def sdk_service(service_id: str) -> str:
    """Return the service name in ``aws-sdk:``, from the model's ``serviceId``: ``cloudwatchlogs``."""
    return service_prefix(service_id).lower()


def botocore_name(service: str) -> str:
    """Return botocore's service name, hyphens aside, for a name in ``aws-sdk:``."""
    return _BOTOCORE_NAMES.get(service, service)


def sdk_names(botocore_names: Iterable[str]) -> list[str]:
    """Return the ``aws-sdk:`` names of botocore's services."""
    others = {name: service for service, name in _BOTOCORE_NAMES.items()}
    return [others.get(name, fold_name(name)) for name in botocore_names]


def capitalize(name: str) -> str:
    """Capitalize the first letter: ``taskArn`` becomes ``TaskArn``."""
    return name[:1].upper() + name[1:]


def exception_name(shape: str) -> str:
    """Return the error name for the model's `shape`, always with the suffix ``Exception``."""
    stem = shape.removesuffix("Fault")
    return stem if stem.endswith("Exception") else f"{stem}Exception"
