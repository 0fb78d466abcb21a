"""Which functions can become nodes, and why others cannot."""

import re
from collections.abc import Iterator, Mapping, Sequence

import jsii
from aws_cdk import Annotations, Stack, Token
from aws_cdk import aws_lambda as lambda_
from constructs import IConstruct, IValidation, Node

from unum_constructs import cross_stack
from unum_constructs.errors import ConstructError
from unum_constructs.host import HANDLER, IMAGE, Host
from unum_constructs.resource import resource_of

MAX_LAYERS = 5
"""Of one function. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

_RUNTIME = re.compile(r"python3\.(1[1-9]|[2-9]\d)")


def hosts_of(workflow: IConstruct, functions: Mapping[str, lambda_.Function]) -> dict[str, Host]:
    """The host of each function by its key; the same one where two keys have the same function.

    Raises:
        ConstructError: a function cannot be wrapped.
    """
    stack = Stack.of(workflow)
    hosts: dict[int, Host] = {}
    for key, function in functions.items():
        if id(function) not in hosts:
            for problem in _problems(stack, function):
                raise ConstructError(workflow, f"functions[{key!r}]: {problem}")
            hosts[id(function)] = _host(function)
    return {key: hosts[id(function)] for key, function in functions.items()}


def _host(function: lambda_.Function) -> Host:
    host = function.node.try_find_child(Host.ID)
    if isinstance(host, Host):
        return host
    host = Host(function, handler=_handler(resource_of(function, lambda_.CfnFunction)))
    function.node.add_validation(_StillFit(function))
    _warn_of_what_remains(host.version)
    return host


def _handler(resource: lambda_.CfnFunction) -> str | None:
    """The user's handler."""
    return resource.handler if resource.package_type != IMAGE else str(_command(resource)[0])


def _command(resource: lambda_.CfnFunction) -> Sequence[object]:
    """What a container image is told to run; nothing if that is in the image alone."""
    configured = resource.stack.resolve(resource.image_config) or {}
    return configured.get("command") or ()


def _warn_of_what_remains(version: lambda_.Version) -> None:
    """Warn of what costs by the hour, because versions are retained."""
    if resource_of(version, lambda_.CfnVersion).provisioned_concurrency_config is not None:
        Annotations.of(version).add_warning_v2(
            "unum:provisionedConcurrency",
            "versions of a workflow's functions are retained for executions that run, with their provisioned "
            "concurrency: each costs until it is deleted; do that when its executions have ended",
        )


@jsii.implements(IValidation)
class _StillFit:
    """Looks at a function once more when all constructs and Aspects have done their part."""

    def __init__(self, function: lambda_.Function) -> None:
        self._function = function

    def validate(self) -> list[str]:
        return [*_changed(self._function)]


def _changed(function: lambda_.Function) -> Iterator[str]:
    """What has become of a function that hosts nodes, although it must not."""
    resource = resource_of(function, lambda_.CfnFunction)
    if resource.package_type == IMAGE:
        return
    layers = function.stack.resolve(resource.layers) or ()
    if resource.handler != HANDLER:
        yield (
            f"its handler was set to {resource.handler!r} after it became a part of a workflow, which needs "
            f"{HANDLER!r}: do before what sets it"
        )
    if len(layers) > MAX_LAYERS:
        yield f"has {len(layers)} layers, the workflows' included; Lambda allows {MAX_LAYERS}: merge some of them"
    if not _RUNTIME.fullmatch(str(resource.runtime)):
        yield f"expected the runtime Python 3.11 or newer, got {resource.runtime!r}, which was set later"


def _problems(stack: Stack, function: object) -> Iterator[str]:
    if not isinstance(function, lambda_.Function):
        yield _stranger(function)
        return
    problems = [*_placed(stack, function)]
    if function.node.try_find_child(Host.ID) is None:
        problems += _unfit(function, resource_of(function, lambda_.CfnFunction))
    yield from (f"{function.node.path}: {problem}" for problem in problems)


def _stranger(function: object) -> str:
    expected = "expected an aws_lambda.Function that this app creates, got"
    if isinstance(function, lambda_.Version | lambda_.Alias):
        kind = type(function).__name__.lower()
        return f"{expected} the {kind} {function.node.path}; pass its function, the workflow makes versions by itself"
    if isinstance(node := getattr(function, "node", None), Node):
        return f"{expected} {node.path}, which is imported or a singleton; create it in this app, as a Function"
    return f"{expected} {function!r}; pass the construct"


def _placed(workflow: IConstruct, function: lambda_.Function) -> Iterator[str]:
    if Stack.of(workflow).node.path != function.stack.node.path:
        yield from cross_stack.problems(workflow, function)


def _unfit(function: lambda_.Function, resource: lambda_.CfnFunction) -> Iterator[str]:
    """What is wrong with a function that no workflow has wrapped yet."""
    if resource.durable_config is not None:
        yield "is a durable function, which Lambda calls in its own way; remove `durable_config`"
    if resource.package_type == IMAGE:
        yield from _unfit_image(_command(resource))
    else:
        yield from _unfit_archive(function, resource.handler)
    if function.current_version.node.try_find_child("EventInvokeConfig") is not None:
        yield (
            "its current version has an asynchronous configuration, but failed events must reach the workflow's queue; "
            "remove `configure_async_invoke` from the version"
        )


def _unfit_image(command: Sequence[object]) -> Iterator[str]:
    match command:
        case [str() as handler] if "." in handler and not Token.is_unresolved(handler):
            return
    yield (
        f'expected the image\'s handler as `cmd=["module.function"]`, got {command!r}: the runtime, which has to be in '
        "the image, calls it"
    )


def _unfit_archive(function: lambda_.Function, handler: str | None) -> Iterator[str]:
    if not _RUNTIME.fullmatch(function.runtime.name):
        yield f"expected the runtime Python 3.11 or newer, got {function.runtime.name!r}; change `runtime`"
    if Token.is_unresolved(handler):
        yield "its handler is a token, but has to be known at synth; write it as text"
    elif handler == HANDLER:
        yield f"its handler is {HANDLER}, which the workflow sets itself; name your own handler"
    elif "." not in (handler or ""):
        yield f'expected a handler "module.function", got {handler!r}'
