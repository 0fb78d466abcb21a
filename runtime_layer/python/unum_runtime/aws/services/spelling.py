"""How Step Functions spells the names of services, operations and fields: as the AWS SDK for Java does.

Source: the Developer Guide, "Learning to use AWS service SDK integrations in Step Functions", and the naming strategy
of the AWS SDK for Java 2.x, whose names these are.
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
"""Names of fields that Java does not allow; they end in ``Value``, as in ``EqualsValue``."""

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
"""Services whose name in ``aws-sdk:`` is not botocore's without its hyphens."""


@cache
def pascal(name: str) -> str:
    """`name` in PascalCase, as the SDK for Java spells it: ``DBClusterIdentifier`` is ``DbClusterIdentifier``."""
    for boundary, separated in _BOUNDARIES:
        name = boundary.sub(separated, name)
    return "".join(map(str.capitalize, name.split()))


@cache
def field_name(name: str) -> str:
    """The field of the API called `name`, as an ``aws-sdk:`` integration spells it."""
    spelled = pascal(name)
    return f"{spelled}Value" if _TAKEN.fullmatch(spelled.lower()) else spelled


@cache
def folded(name: str) -> str:
    """What all spellings of one field's name have in common; no two fields of an AWS structure share it."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def service_prefix(service_id: str) -> str:
    """What the names of a service's errors begin with, from the ``serviceId`` in its model: ``DynamoDb``."""
    return pascal(service_id).removeprefix("Amazon").removeprefix("Aws").removesuffix("Service")


def sdk_service(service_id: str) -> str:
    """What a service is called in ``aws-sdk:``, from the ``serviceId`` in its model: ``cloudwatchlogs``."""
    return service_prefix(service_id).lower()


def botocore_name(service: str) -> str:
    """What botocore calls the service that ``aws-sdk:`` calls `service`, but for hyphens."""
    return _BOTOCORE_NAMES.get(service, service)


def sdk_names(botocore_names: Iterable[str]) -> list[str]:
    """What ``aws-sdk:`` calls the services that botocore calls `botocore_names`."""
    others = {name: service for service, name in _BOTOCORE_NAMES.items()}
    return [others.get(name, folded(name)) for name in botocore_names]


def capitalized(name: str) -> str:
    """`name` with a capital at its beginning: ``taskArn`` is ``TaskArn``."""
    return name[:1].upper() + name[1:]


def exception_name(shape: str) -> str:
    """The name of the error that a service's model calls `shape`: always with the suffix ``Exception``."""
    stem = shape.removesuffix("Fault")
    return stem if stem.endswith("Exception") else f"{stem}Exception"
