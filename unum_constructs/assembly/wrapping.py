"""Checks of functions before and after they become workflow nodes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsii
from aws_cdk import Annotations, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import IConstruct, IValidation

from unum_constructs.assembly import cross_stack
from unum_constructs.cdk.lookup import (
    given_properties_of,
    is_token,
    node_of,
    package_type_of,
    path_of,
    properties_of,
    resource_of,
    runtime_of,
    stack_of,
    version_of,
)
from unum_constructs.errors import ConstructError
from unum_constructs.function import UnumFunction
from unum_constructs.grants import IUnumWorkflow
from unum_constructs.hosting import environment
from unum_constructs.hosting.host import ASYNC_CONFIGURATION, HANDLER, IMAGE, OWN_CONFIGURATION, Host
from unum_constructs.layer.runtime_archive import other_runtime

MAX_LAYERS = 5
"""Layers of one function. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

_STARTING = "a Task starts it by `arn:aws:states:::states:startExecution`, with the ARN of its start alias"

_RUNTIME = re.compile(r"python3\.(1[1-9]|[2-9]\d)")


def hosts_of(
    workflow: IConstruct, functions: Mapping[str, lambda_.Function], option: str = "functions"
) -> dict[str, Host]:
    """Return the host of each function of `option` by key; keys of the same function share a host.

    Raises:
        ConstructError: a function cannot be wrapped.
    """
    hosts: dict[int, Host] = {}
    new: list[Host] = []
    for key, function in functions.items():
        if id(function) not in hosts:
            host = Host.of(function)
            for problem in _problems(stack_of(workflow), function, host):
                raise ConstructError(workflow, f"{option}[{key!r}]: {problem}")
            if host is None:
                new.append(host := _new_host(function))
            hosts[id(function)] = host
    # Aspects and later code may still change functions; validation is the last step before templates.
    node_of(workflow).add_validation(_FunctionsUnchanged(new))
    return {key: hosts[id(function)] for key, function in functions.items()}


def _new_host(function: lambda_.Function) -> Host:
    handlers = function.handlers if isinstance(function, UnumFunction) else None
    host = Host(function, handler=_handler(function), handlers=handlers)
    if _has_version_options(function):
        _warn_of_what_remains(host.version)
    if not host.takes_layers:
        # Synth cannot look into an image; without the runtime, each of its invocations fails.
        Annotations.of(function).add_info_v2(
            "unum:imageRuntime",
            "its handler becomes the workflow's runtime, which must be in the image: `pip install unum-runtime` there, "
            "in the version of the constructs; for an image in another language, or without the runtime, pass an alias "
            "or a version of the function, which Tasks call",
        )
    elif given_properties_of(host.resource).get("codeSigningConfigArn") is not None:
        # Source: AWS Lambda Developer Guide, "Using code signing to verify code integrity with Lambda".
        Annotations.of(function).add_warning_v2(
            "unum:unsignedLayer",
            "its code signing configuration covers layers, and the runtime's is not signed: if it rejects untrusted "
            "code, the deployment fails; set `UntrustedArtifactOnDeployment.WARN`, or pass an alias or a version of "
            "the function, which Tasks call",
        )
    return host


def _handler(function: lambda_.Function) -> str | None:
    """Return the handler of a function that has no host yet: the user's."""
    resource = resource_of(function, lambda_.CfnFunction)
    if package_type_of(function) == IMAGE:
        return str(_command(resource)[0])
    handler: str | None = given_properties_of(resource).get("handler")
    return handler


def _command(resource: lambda_.CfnFunction) -> Sequence[object]:
    """Return the command override of a container image, empty by default."""
    configured = resource.stack.resolve(resource.image_config) or {}
    return configured.get("command") or ()


def _warn_of_what_remains(version: lambda_.Version) -> None:
    """Warn of provisioned concurrency, which retained versions keep paying for."""
    if resource_of(version, lambda_.CfnVersion).provisioned_concurrency_config is not None:
        Annotations.of(version).add_warning_v2(
            "unum:provisionedConcurrency",
            "versions of workflow functions are retained for running executions, with their provisioned concurrency, "
            "which costs until the version is deleted; delete versions whose executions have ended",
        )


@jsii.implements(IValidation)
class _FunctionsUnchanged:
    """Check of wrapped functions after all constructs and Aspects have run."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = hosts

    def validate(self) -> list[str]:
        found = [(host, properties_of(host.resource)) for host in self._hosts]
        # One `resolve` for all functions: each is a request to the CDK's process.
        asked = [
            {
                "environment": environment.environment_of(host.resource, properties),
                "own": host.variables,
                "layers": properties.get("layers"),
            }
            for host, properties in found
        ]
        answers = stack_of(self._hosts[0].function).resolve(asked) if asked else []
        return [
            f"{path_of(host.function)}: {change}"
            for (host, properties), answer in zip(found, answers, strict=True)
            for change in _change_problems(host, properties, answer)
        ]


def _change_problems(host: Host, properties: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield later changes that break a wrapped function.

    Args:
        host: the function.
        properties: its current properties.
        found: its current environment, the workflows' part of it (`own`), and its layers, if present; resolved.
    """
    handler, runtime = properties.get("handler"), properties.get("runtime")
    variables = found.get("environment", {}).get("variables", {})
    yield from host.environment_problems(variables, found.get("own", {}))
    if not host.takes_layers:
        return
    if handler != HANDLER:
        yield (
            f"its handler was set to {handler!r} after the function joined a workflow, which needs "
            f"{HANDLER!r}; set it before"
        )
    if runtime != runtime_of(host.function):
        yield other_runtime(runtime_of(host.function), runtime)
    layers = found.get("layers", ())
    if len(layers) > MAX_LAYERS:
        yield f"has {len(layers)} layers, including the workflows'; Lambda allows {MAX_LAYERS}: merge some of them"


def why_called(function: object) -> str | None:
    """Return the reason why `function` cannot carry the runtime, so that Tasks call it; None without a reason."""
    if not isinstance(function, lambda_.Function):
        return None if _is_workflow(function) else _kind_without_runtime(function)
    if package_type_of(function) != IMAGE:
        runtime = runtime_of(function)
        return None if _RUNTIME.fullmatch(str(runtime)) else str(runtime)
    command = _command(resource_of(function, lambda_.CfnFunction))
    return "image without `cmd`" if any(_image_problems(command)) else None


def _kind_without_runtime(function: object) -> str | None:
    """Return the kind of a function that is no `Function`, such as an alias; None otherwise."""
    if not hasattr(function, "function_arn"):
        return None
    kinds = {lambda_.Alias: "alias", lambda_.Version: "version", lambda_.SingletonFunction: "singleton"}
    return next((kind for each, kind in kinds.items() if isinstance(function, each)), "imported")


def _is_workflow(function: object) -> bool:
    """Return True for workflows and their aliases."""
    if isinstance(function, lambda_.Alias):
        return isinstance(function.node.scope, IUnumWorkflow)
    return isinstance(function, IUnumWorkflow)


def _problems(stack: Stack, function: lambda_.Function, host: Host | None) -> Iterator[str]:
    problems = [*_stack_problems(stack, function)]
    if host is None:
        problems += _function_problems(function, resource_of(function, lambda_.CfnFunction))
    yield from (f"{path_of(function)}: {problem}" for problem in problems)


def wrong_construct(function: object) -> str:
    """Return the problem of a value that is no Lambda function."""
    expected = "expected a function of aws_lambda, got"
    if isinstance(function, IUnumWorkflow):
        return f"{expected} the workflow {function.node.path}; {_STARTING}"
    if isinstance(function, lambda_.Alias):
        workflow, _, _ = function.node.path.rpartition("/")
        return f"{expected} an alias of the workflow {workflow}; {_STARTING}"
    return f"{expected} {function!r}; pass the construct"


def _stack_problems(stack: Stack, function: lambda_.Function) -> Iterator[str]:
    if path_of(stack) != path_of(stack_of(function)):
        yield from cross_stack.placement_problems(stack, function)


def _function_problems(function: lambda_.Function, resource: lambda_.CfnFunction) -> Iterator[str]:
    """Yield problems of a function before its first workflow."""
    given = given_properties_of(resource)
    # Read as a raw property: older versions of the CDK know no `durable_config`.
    if given.get("durableConfig") is not None:
        yield (
            "is a durable function, which Lambda invokes by another protocol; remove `durable_config`, or pass an "
            "alias or a version of it, which Tasks call"
        )
    if package_type_of(function) == IMAGE:
        yield from _image_problems(_command(resource))
    else:
        yield from _archive_problems(runtime_of(function), given.get("handler"))
    # Without options, the version has one only if the app has made the version; see `Host.send_failures`.
    if _has_version_options(function) and node_of(version_of(function)).try_find_child(ASYNC_CONFIGURATION) is not None:
        yield OWN_CONFIGURATION


def _has_version_options(function: lambda_.Function) -> bool:
    """Return True if the function's version may have options of its own."""
    return not isinstance(function, UnumFunction) or function._versions_have_options  # noqa: SLF001 - of this package


def _image_problems(command: Sequence[object]) -> Iterator[str]:
    match command:
        case [str() as handler] if "." in handler and not is_token(handler):
            return
    yield (
        f'expected the image\'s handler as `cmd=["module.function"]`, got {command!r}: the runtime in the image '
        "calls it"
    )


def _archive_problems(runtime: str | None, handler: str | None) -> Iterator[str]:
    if not _RUNTIME.fullmatch(str(runtime)):
        yield f"expected the runtime Python 3.11 or newer, got {runtime!r}; change `runtime`"
    if handler is not None and is_token(handler):
        yield "its handler is a token, but synth has to know it; write it as text"
    # Probably copied from a template; the runtime would call itself.
    elif handler == HANDLER:
        yield f"its handler is {HANDLER}, which the workflow sets itself; name your own handler"
    elif "." not in (handler or ""):
        yield f'expected a handler "module.function", got {handler!r}'
