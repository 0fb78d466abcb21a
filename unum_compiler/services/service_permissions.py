"""IAM permissions of a service Task: actions, restricted to resources in its parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from botocore.loaders import Loader
from botocore.model import OperationModel, OperationNotFoundError, ServiceModel

from unum_compiler.problems import did_you_mean, shown
from unum_compiler.services.service_arns import (
    ACTIONS,
    ANY,
    ANYWHERE,
    PARTITION,
    PASSED_TO,
    PREFIXES,
    TRANSACTION,
    arn,
    copied_object,
    functions,
    literal,
    literals,
    resources,
    route,
)
from unum_runtime.features.services.jobs import JOBS
from unum_runtime.features.services.operation import Resource, parse
from unum_runtime.features.services.spelling import fold_name, sdk_names, sdk_service
from unum_runtime.model.states import Json, Pattern

_KIND = "service-2"

INVOKE_FUNCTION = ("lambda:InvokeFunction",)

_ROLES = ("role", "servicerole", "noderole", "jobflowrole", "autoscalingrole")
"""Folded names of parameters with a role, besides those that end in ``RoleArn``."""


class NoSuchOperation(Exception):
    """An unknown service or operation.

    Attributes:
        remedy: sentence with the unknown name and its alternatives.
    """

    def __init__(self, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(remedy)


@cache
def operation(resource: str) -> OperationModel:
    """Return the model of the operation that `resource` calls.

    Raises:
        NoSuchOperation: the operation is unknown.
    """
    called = parse(resource)
    model = service_model(called.service)
    try:
        return model.operation_model(called.operation)
    except OperationNotFoundError:
        action = called.operation[:1].lower() + called.operation[1:]
        remedy = did_you_mean(action, [name[:1].lower() + name[1:] for name in model.operation_names])
        raise NoSuchOperation(f"{resource}: the service has no action {shown(action)}; {remedy}") from None


@cache
def service_model(service: str) -> ServiceModel:
    """Return the API model of `service`, spelled with or without hyphens.

    Raises:
        NoSuchOperation: the service is unknown.
    """
    name = _services().get(fold_name(service))
    if name is None:
        remedy = did_you_mean(service, sdk_names(_services().values()))
        raise NoSuchOperation(f"there is no service {shown(service)} in aws-sdk; {remedy}")
    return ServiceModel(_LOADER.load_service_model(name, _KIND), name)


def sdk_spellings(model: ServiceModel) -> tuple[str, ...]:
    """Return ``aws-sdk:`` names of a service; botocore lists some services twice."""
    return tuple(dict.fromkeys((sdk_service(model.service_id), *sdk_names([model.service_name]))))


@cache
def _services() -> Mapping[str, str]:
    """Return botocore's name of each service, by the name without hyphens."""
    return {fold_name(name): name for name in _LOADER.list_available_services(_KIND)}


_LOADER: Any = Loader()  # reads the data files that botocore brings along, without session or credentials


class Condition(NamedTuple):
    """A condition of a permission.

    Attributes:
        operator: such as ``StringEquals``.
        key: condition key of IAM or of the service.
        values: allowed values, with the placeholders of a statement's resources.
    """

    operator: str
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A permission.

    Attributes:
        actions: IAM actions.
        resources: ARNs with ``${AWS::Partition}``, ``${AWS::Region}`` and ``${AWS::AccountId}`` for those of the
            deployment, as in ``Fn::Sub``.
        is_wide: True if the permission includes more than the Task's resources, which only the run time knows.
        condition: condition; None without one.
    """

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    is_wide: bool = field(default=False, kw_only=True)
    condition: Condition | None = field(default=None, kw_only=True)


def iam_statements(resource: str, pattern: Pattern, parameters: Json) -> list[Statement]:
    """Return the permissions of one service Task.

    Parameters that are known only at run time (``.$``, ``{% %}``) make a statement wide.

    Args:
        resource: a resource without a `refusal_reason`.
        pattern: pattern of the call.
        parameters: ``Parameters`` or ``Arguments`` as in the definition; None without that field.
    """
    match resource:
        case "http:invoke":
            return _endpoint(parameters)
        case "eks:call" | "eks:runJob":
            return []  # the cluster maps the role of the service function to its own permissions
        case "apigateway:invoke":
            values = literals(parameters)
            is_open = values.get("authtype", "NO_AUTH") == "NO_AUTH"
            return [] if is_open else [_statement("execute-api:Invoke", route(values))]
    called = parse(resource)
    prefix = _prefix(called.service)
    own = _own(_actions(prefix, called, parameters), prefix, called.operation, parameters)
    waiting = _waiting(prefix, called, parameters) if pattern is Pattern.SYNC else ()
    return [*own, *waiting, *_passed_roles(prefix, called, parameters), *_objects(called, parameters)]


def runtime_statements(resource: str, pattern: Pattern, parameters: Json) -> list[Statement]:
    """Return the permissions of one service Task that this library needs and Step Functions does not.

    It polls and stops jobs whose end EventBridge reports to Step Functions, and reads connections itself.

    Args:
        resource: as `iam_statements`.
        pattern: pattern of the call.
        parameters: as `iam_statements`.
    """
    if resource == "http:invoke":
        return _endpoint(parameters)[:1]
    if pattern is not Pattern.SYNC or resource == "eks:runJob":
        return []
    called = parse(resource)
    return [*_waiting(_prefix(called.service), called, parameters)]


def _statement(action: str, *found: str) -> Statement:
    return Statement((action,), found, is_wide=ANY in found)


def _own(actions: tuple[str, ...], prefix: str, operation_name: str, parameters: Json) -> Iterator[Statement]:
    """Yield the permission for `actions`, which the operation called `operation_name` requires."""
    values = literals(parameters)
    if operation_name in _COPIES and prefix == "s3":
        yield _statement("s3:GetObject", copied_object(values))
        actions = tuple(each for each in actions if each != "s3:GetObject")
    found = (ANY,) if ANYWHERE.issuperset(actions) else resources(prefix, operation_name, parameters)
    if actions == INVOKE_FUNCTION:
        found = tuple(functions(values.get("functionname"), values))
    limits = (
        Condition("StringEquals", key, (value,))
        for parameter, key in _LIMITS.get(actions, {}).items()
        if (value := values.get(parameter))
    )
    yield Statement(actions, found, is_wide=ANY in found, condition=next(limits, None))


_LIMITS: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("s3:ListBucket",): {"prefix": "s3:prefix"},
    ("emr-containers:StartJobRun",): {"executionrolearn": "emr-containers:ExecutionRoleArn"},
}
"""Condition keys that restrict actions to the value of a parameter, by its folded name."""

_COPIES = frozenset(("CopyObject", "UploadPartCopy"))


def _prefix(service: str) -> str:
    model = service_model(service)
    return PREFIXES.get(str(model.service_name), str(model.signing_name))


def _actions(prefix: str, called: Resource, parameters: Json) -> tuple[str, ...]:
    if prefix == "apigateway":  # its IAM actions are HTTP methods
        return (f"apigateway:{operation(called.name).http['method']}",)
    if (prefix, called.operation) == ("dynamodb", "TransactWriteItems"):
        return tuple(sorted(set(_written(parameters)))) or ACTIONS["dynamodb:TransactWriteItems"]
    action = f"{prefix}:{called.operation}"
    return ACTIONS.get(called.name) or ACTIONS.get(action, (action,))


def _written(parameters: Json) -> Iterator[str]:
    """Yield IAM actions of visible transaction items."""
    items = parameters.get("TransactItems") if isinstance(parameters, dict) else None
    for item in items if isinstance(items, list) else ():
        yield from (TRANSACTION[fold_name(kind)] for kind in item if fold_name(kind) in TRANSACTION)


def _waiting(prefix: str, called: Resource, parameters: Json) -> Iterator[Statement]:
    """Yield permissions to poll and stop the job."""
    job = JOBS[called.name]
    actions = tuple(f"{prefix}:{name}" for name in (job.describe, job.stop) if name)
    machine = literals(parameters).get("statemachinearn") or ""
    # Actions of Step Functions on executions name the execution, whose ARN contains the machine's name.
    if prefix != "states":
        for action in actions:
            yield from _own((action,), prefix, action.partition(":")[2], parameters)
    elif ":stateMachine:" in machine:
        yield Statement(actions, (f"{machine.replace(':stateMachine:', ':execution:')}:*",))
    else:
        yield Statement(actions, (arn("states", "execution:*"),), is_wide=True)


def _passed_roles(prefix: str, called: Resource, parameters: Json) -> Iterator[Statement]:
    """Yield the permission to pass roles to the called service."""
    shape = operation(called.name).input_shape
    roles = [] if prefix in _WITHOUT_PASSING else list(dict.fromkeys(_roles(prefix, shape, parameters)))
    if called.operation == "RunTask" and not roles:
        roles = [ANY]  # the roles of the task definition, which the parameters do not show
    if roles:
        yield _passed(prefix, roles)


_WITHOUT_PASSING = frozenset(("sts", "emr-containers"))
"""IAM prefixes of services that take roles without iam:PassRole: STS assumes them, EMR has a condition of its own."""


def _passed(prefix: str, roles: list[str]) -> Statement:
    found, services = (ANY,) if ANY in roles else tuple(roles), PASSED_TO.get(prefix, ())
    if ANY in roles and not services:
        # Any role to any service would be every permission of the account. Most services call themselves so.
        services = (f"{prefix}.amazonaws.com",)
    condition = Condition("StringEquals", "iam:PassedToService", services) if services else None
    return Statement(("iam:PassRole",), found, is_wide=ANY in roles, condition=condition)


def _roles(prefix: str, shape: Any, value: Json) -> Iterator[str]:
    """Yield role ARNs in `value`, located by `shape`."""
    # Names alone would mislead: a free-form map may have a key like "RoleArn". The API's shape decides.
    match getattr(shape, "type_name", ""), value:
        case "list", list():
            for item in value:
                yield from _roles(prefix, shape.member, item)
        case "map", dict():
            for item in value.values():
                yield from _roles(prefix, shape.value, item)
        case "structure", dict():
            members = {fold_name(name): member for name, member in shape.members.items()}
            for key, item in value.items():
                name = fold_name(key.removesuffix(".$"))
                yield from _role(prefix, key, item) if _is_role(name) else _roles(prefix, members.get(name), item)


def _is_role(name: str) -> bool:
    return name.endswith("rolearn") or name in _ROLES


def _role(prefix: str, key: str, value: Json) -> Iterator[str]:
    role = literal(key, value)
    if role is None:
        yield ANY
    elif ":instance-profile/" in role:
        yield ANY  # only IAM knows the role in a profile
    elif role.startswith("arn:") or (role.startswith("${") and prefix != "elasticmapreduce"):
        yield role
    elif prefix in ("glue", "elasticmapreduce"):  # accept names as well as ARNs
        yield f"arn:{PARTITION}:iam::${{AWS::AccountId}}:role/{role}"


def _objects(called: Resource, parameters: Json) -> Iterator[Statement]:
    """Yield permissions to read the prompt of ``bedrock:invokeModel`` from S3, and to write its answer there."""
    if called.name != "bedrock:invokeModel":
        return
    fields = {fold_name(key): value for key, value in parameters.items()} if isinstance(parameters, dict) else {}
    for name, action in (("input", "s3:GetObject"), ("output", "s3:PutObject")):
        if name in fields:
            uri = literals(fields[name]).get("s3uri")
            yield _statement(action, f"arn:{PARTITION}:s3:::{uri.removeprefix('s3://')}" if uri else ANY)


def _endpoint(parameters: Json) -> list[Statement]:
    """Return permissions for an EventBridge connection, plus its generated secret."""
    fields = parameters if isinstance(parameters, dict) else {}
    source = fields.get("InvocationConfig") or fields.get("Authentication")
    secret = arn("secretsmanager", "secret:events!connection/*")
    return [
        _statement("events:DescribeConnection", literals(source).get("connectionarn") or ANY),
        Statement(("secretsmanager:GetSecretValue",), (secret,), is_wide=True),
    ]
