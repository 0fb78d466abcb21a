"""Which functions can become nodes, and why others cannot."""

import re
from collections.abc import Iterator, Mapping

from aws_cdk import Stack, Token
from aws_cdk import aws_lambda as lambda_
from constructs import IConstruct, Node

from unum_constructs.errors import ConstructError
from unum_constructs.host import HANDLER, Host
from unum_constructs.resource import resource_of

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
    return (
        host if isinstance(host, Host) else Host(function, handler=resource_of(function, lambda_.CfnFunction).handler)
    )


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


def _placed(stack: Stack, function: lambda_.Function) -> Iterator[str]:
    if function.stack is not stack:
        here, there = stack.node.path, function.stack.node.path
        yield f"expected a function of the workflow's stack {here!r}, got one of {there!r}; define both in one stack"


def _unfit(function: lambda_.Function, resource: lambda_.CfnFunction) -> Iterator[str]:
    """What is wrong with a function that no workflow has wrapped yet."""
    if resource.package_type == "Image":
        yield "is a container image, which takes no layer; package the code as a ZIP asset"
        return
    if not _RUNTIME.fullmatch(function.runtime.name):
        yield f"expected the runtime Python 3.11 or newer, got {function.runtime.name!r}; change `runtime`"
    if resource.durable_config is not None:
        yield "is a durable function, which Lambda calls in its own way; remove `durable_config`"
    handler = resource.handler
    if Token.is_unresolved(handler):
        yield "its handler is a token, but has to be known at synth; write it as text"
    elif handler == HANDLER:
        yield f"its handler is {HANDLER}, which the workflow sets itself; name your own handler"
    elif "." not in (handler or ""):
        yield f'expected a handler "module.function", got {handler!r}'
    if function.current_version.node.try_find_child("EventInvokeConfig") is not None:
        yield (
            "its current version has an asynchronous configuration, but failed events must reach the workflow's queue; "
            "remove `configure_async_invoke` from the version"
        )
