"""State machines that `aws_cdk.aws_stepfunctions` builds; the only module that knows its objects.

The CDK renders them to the Amazon States Language itself. What is added here is the way back from the tokens in it to
the functions that they stand for.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from aws_cdk import Duration, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from constructs import IConstruct

from unum_compiler.frontends.keys import unique_keys
from unum_compiler.frontends.values import TOKEN, named_functions
from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Json

_INVOKE = ["lambda:InvokeFunction"]
_EVENTS = frozenset(("events:PutTargets", "events:PutRule", "events:DescribeRule"))
"""For the rules by which Step Functions learns that a job has ended; here somebody asks the job."""
_EXECUTIONS = frozenset(("states:StartExecution", "states:DescribeExecution", "states:StopExecution"))
"""For starting executions; whose they are, and so what has to be allowed, the Task itself says."""

_LANGUAGES = {sfn.QueryLanguage.JSON_PATH: "JSONPath", sfn.QueryLanguage.JSONATA: "JSONata"}
_INTRINSIC = re.compile(r"Ref|Fn::\w+")


class Built(NamedTuple):
    """A state machine out of constructs.

    Attributes:
        machine: in the Amazon States Language, with CDK tokens.
        keys: what takes the place of a Task's resource, by the token of it: keys of functions, names of activities.
        functions: the functions by key.
        statements: what its Tasks must be allowed, without invoking the functions.
    """

    machine: Json
    keys: Mapping[str, str]
    functions: Mapping[str, Any]
    statements: tuple[iam.PolicyStatement, ...]


def read_chainable(
    chainable: object,
    *,
    query_language: sfn.QueryLanguage | None = None,
    timeout: Duration | None = None,
    comment: str | None = None,
) -> Built:
    """What `chainable` says.

    Args:
        chainable: a state, a chain, or the `DefinitionBody` of either.
        query_language: of states that name none.
        timeout: of an execution.
        comment: for readers.

    Raises:
        DefinitionError: it is none of these.
    """
    start = _start_state(chainable)
    graph = sfn.StateGraph(start, comment or "")
    if timeout is not None:
        graph.timeout = timeout
    machine = _plain(graph.to_graph_json(query_language), "$", Stack.of(start))
    if query_language is not None:
        machine = {"QueryLanguage": _LANGUAGES[query_language], **machine}  # which the graph's states now leave out
    if comment is not None:
        machine = {"Comment": comment, **machine}
    by_text = _functions(start.node.root)
    functions = {text: by_text[text] for text in named_functions(machine) if text in by_text}
    keys = unique_keys(functions.values())
    return Built(
        machine=machine,
        keys={**{text: keys[function] for text, function in functions.items()}, **_activities(start.node.root)},
        functions={key: function for function, key in keys.items()},
        statements=tuple(each for each in graph.policy_statements if not _is_needless(each, functions.values())),
    )


def _start_state(chainable: object) -> sfn.State:
    if isinstance(chainable, sfn.ChainDefinitionBody):
        chainable = chainable.chainable
    start = getattr(chainable, "start_state", None)
    if isinstance(start, sfn.State):
        return start
    message = f"expected a state or a chain of aws_stepfunctions, got {chainable!r}; "
    remedy = "definitions in files come in by Definition.from_asl_file"
    raise DefinitionError((Problem("chainable", message + remedy),))


def _functions(root: IConstruct) -> dict[str, lambda_.FunctionBase]:
    """Every function by the texts that stand for it: its ARN and its name.

    A singleton has the ARN of a function that is its own construct; that one counts.
    """
    every = [each for each in root.node.find_all() if isinstance(each, lambda_.FunctionBase)]
    every.sort(key=lambda each: isinstance(each, lambda_.Function))
    return {text: each for each in every for text in (each.function_arn, each.function_name)}


def _activities(root: IConstruct) -> dict[str, str]:
    """What stands for the ARN of every activity: no function's key, so that the compiler says what becomes of it."""
    activities = (each for each in root.node.find_all() if isinstance(each, sfn.Activity))
    return {each.activity_arn: f"arn:aws:states:::activity:{each.node.id}" for each in activities}


def _is_needless(statement: iam.PolicyStatement, functions: Collection[lambda_.FunctionBase]) -> bool:
    """Whether `statement` allows what is not done here, or what follows from the workflow's functions and Tasks."""
    if _EVENTS.issuperset(statement.actions) or _EXECUTIONS.issuperset(statement.actions):
        return True
    ours = {arn for function in functions for arn in (function.function_arn, f"{function.function_arn}:*")}
    return statement.actions == _INVOKE and ours.issuperset(statement.resources)


def _plain(value: Json, place: str, stack: Stack) -> Json:
    """`value` with tokens instead of CloudFormation's intrinsic functions, which hand-written states may have.

    Paths stand in it as they are, also where the CDK leaves tokens of them: `sfn.JsonPath` gives nothing else, and
    payloads are not the only place that people write its paths in.

    Raises:
        DefinitionError: an object that the CDK resolves later was lost on the way to Python.
    """
    match value:
        case dict() if len(value) == 1 and _INTRINSIC.fullmatch(next(iter(value))):
            return Token.as_string(value)
        case dict():
            return {key: _plain(item, member(place, key), stack) for key, item in value.items()}
        case list():
            return [_plain(item, element(place, index), stack) for index, item in enumerate(value)]
        case "<unresolved-token>":
            message = "expected text, a number, an array or an object, got an object that the CDK resolves later; "
            raise DefinitionError((Problem(place, f"{message}write it as a token of text: Token.as_string(...)"),))
        case str() if TOKEN.fullmatch(value) and sfn.JsonPath.is_encoded_json_path(value):
            return stack.resolve(value)
        case _:
            return value
