"""Invoked functions: which functions Tasks call, their ARNs, and what synth says about them."""

import re
from collections.abc import Collection, Mapping

from aws_cdk import Annotations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_compiler.lambda_settings import service_memory_mb
from unum_constructs.assembly.wrapping import why_called, wrong_construct
from unum_constructs.cdk.lookup import arn_of, function_behind, is_token, path_of, stack_of
from unum_constructs.errors import ConstructError
from unum_runtime.model.called_functions import CALLED, called_key, calls_function, named_function
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Task

_USD_PER_GB_S = 0.0000133334
"""Lambda on ARM64 in us-east-1. Source: AWS Lambda pricing."""

_COLONS = 6
"""Colons in the ARN of a function without a qualifier."""

_REGION = re.compile(r"arn:[^:]+:lambda:(?P<region>[a-z0-9-]+):")

_NAMED = re.compile(rf"{re.escape(CALLED)}(?P<key>[^:]+)(?P<qualifier>:.+)?")


def reasons_for_calls(workflow: Construct, functions: Mapping[str, lambda_.IFunction]) -> dict[str, str]:
    """Return the reason why Tasks have to invoke a function, by key, for functions that cannot have the runtime.

    Raises:
        ConstructError: one of `functions` is no Lambda function, or can only be called, and is in another region.
    """
    reasons = {}
    for key, function in functions.items():
        reason = why_called(function) or _why_distant(workflow, function)
        if reason is not None:
            _check_region(workflow, f"functions[{key!r}]", function.env.region)
            reasons[key] = reason
        elif not isinstance(function, lambda_.Function):
            raise ConstructError(workflow, f"functions[{key!r}]: {wrong_construct(function)}")
    return reasons


def _why_distant(workflow: Construct, function: lambda_.IFunction) -> str | None:
    """Return the reason for calling a function of a stack in another account of the same region; None otherwise."""
    if not isinstance(function, lambda_.Function):
        return None
    here, there = stack_of(workflow), stack_of(function)
    if path_of(here) == path_of(there) or is_token(here.account) or is_token(there.account):
        return None
    is_distant = here.account != there.account and here.region == there.region
    return f"of the account {there.account}" if is_distant else None


def _check_region(workflow: Construct, place: str, region: str) -> None:
    """Raise if an invoked function is in another region than `workflow`, as far as both are known.

    Raises:
        ConstructError: names the place and both regions.
    """
    here = stack_of(workflow).region
    if region != here and not is_token(region) and not is_token(here):
        raise ConstructError(
            workflow,
            f"{place}: expected a function in the workflow's region {here}, got one in {region}; Lambda and Step "
            "Functions call none of another region (Functions from another region are not reachable in this region): "
            "call one that is in this region, or send it an event",
        )


def check_regions(workflow: Construct, compiled: Workflow) -> None:
    """Raise if a Task names the ARN of a function in another region than `workflow`, as far as both are known.

    Raises:
        ConstructError: names the Task and both regions.
    """
    for task in filter(calls_function, compiled.tasks):
        match = _REGION.match(named_function(task) or "")
        if match:
            _check_region(workflow, f"states[{task.name!r}]", match["region"])


def all_called(functions: Mapping[str, lambda_.IFunction], called: Collection[str]) -> dict[str, lambda_.IFunction]:
    """Return functions of the keys `called`, and of all keys of the same functions.

    The service function depends on what it calls, so a function cannot be both called, also by an alias, and hosted.
    """
    if not called:
        return {}
    same = {path_of(function_behind(functions[key])) for key in called}
    return {key: function for key, function in functions.items() if path_of(function_behind(function)) in same}


def arn_in_statement(arn: str, called: Mapping[str, lambda_.IFunction]) -> str:
    """Return `arn`, from the compiler, with the token of an invoked function in place of its key."""
    match = _NAMED.fullmatch(arn)
    if match is None:
        return arn
    own = arn_of(called[match["key"]])
    # An alias or a version has a qualifier already; the ARN of a new one is a single token.
    is_qualified = isinstance(called[match["key"]], lambda_.Alias | lambda_.Version) or own.count(":") > _COLONS
    return own if is_qualified else own + (match["qualifier"] or "")


def report_calls(workflow: Construct, compiled: Workflow, reasons: Mapping[str, str]) -> None:
    """Say once which Tasks are called instead of hosted, why, and what this costs."""
    tasks = [task for task in compiled.tasks if calls_function(task)]
    if not tasks:
        return
    memory_mb = service_memory_mb(compiled)
    usd = memory_mb / 1024 * _USD_PER_GB_S * 1_000_000
    named = ", ".join(f"{task.name!r} ({_why(task, reasons)})" for task in tasks)
    Annotations.of(workflow).add_info_v2(
        "unum:calledFunctions",
        f"the service function calls the Lambda functions of these Tasks and waits for their answers: {named}. Each "
        f"call costs a second request, and ${usd:.2f} for a million seconds of waiting with {memory_mb} MB; a function "
        "of this app for Python 3.11 or newer costs neither, if Tasks name it without an alias, a version and options",
    )


def _why(task: Task, reasons: Mapping[str, str]) -> str:
    """Return the reason why `task` calls its function."""
    key = called_key(task)
    if key is None:
        return "named by an ARN or an expression"
    return reasons.get(
        key, "a Task of the function calls its alias or version, has options of lambda:invoke, or Credentials"
    )
