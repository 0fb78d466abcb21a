"""State machines built with `aws_cdk.aws_stepfunctions`; the only module that knows the CDK's objects.

The CDK renders them to the Amazon States Language. This module maps the tokens in the text back to functions.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from aws_cdk import Duration, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct, IConstruct

from unum_compiler.frontends.chained_permissions import read_permissions
from unum_compiler.frontends.files import read_file
from unum_compiler.frontends.keys import unique_keys
from unum_compiler.frontends.lost_objects import restore_objects
from unum_compiler.frontends.resolvables import take_objects
from unum_compiler.frontends.substitutions import substitute
from unum_compiler.frontends.values import TOKEN, named_functions, token_of_function
from unum_compiler.parsing.document import parse
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json

_LANGUAGES = {sfn.QueryLanguage.JSON_PATH: "JSONPath", sfn.QueryLanguage.JSONATA: "JSONata"}
_INTRINSIC = re.compile(r"Ref|Fn::\w+")


class Built(NamedTuple):
    """A state machine from constructs.

    Attributes:
        machine: state machine in the Amazon States Language, with CDK tokens.
        keys: replacements of Tasks' resources by their token: keys of functions, ARNs of activities.
        functions: functions by key.
        statements: permissions of its Tasks, without invoking the functions.
        declared: IAM actions in the statements of a Task, by its name; nothing else is derived from such a Task.
        values: tokens of JSON text by the name of their placeholder.
    """

    machine: Json
    keys: Mapping[str, str]
    functions: Mapping[str, Any]
    statements: tuple[iam.PolicyStatement, ...]
    declared: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    values: Mapping[str, str] = MappingProxyType({})


def read_chainable(
    chainable: object,
    *,
    query_language: sfn.QueryLanguage | None = None,
    timeout: Duration | None = None,
    comment: str | None = None,
) -> Built:
    """Return the state machine in `chainable`.

    Args:
        chainable: a state, a chain, or the `DefinitionBody` of either.
        query_language: default of the states.
        timeout: time limit of an execution.
        comment: comment of the state machine.

    Raises:
        DefinitionError: `chainable` has another type.
    """
    start = _start_state(chainable)
    # Not rendered: the CDK names both graphs if the states are already in another one.
    graph = sfn.StateGraph(start, "UnumWorkflow definition")
    if timeout is not None:
        graph.timeout = timeout
    given = take_objects(restore_objects(graph.to_graph_json(query_language), start, graph))
    machine = _plain(given.machine)
    if query_language is not None:
        # The graph's states omit their query language if it is the same.
        machine = {"QueryLanguage": _LANGUAGES[query_language], **machine}
    if comment is not None:
        machine = {"Comment": comment, **machine}
    return _built(machine, start.node.root, graph.policy_statements)._replace(values=given.values)


def is_body(given: object) -> bool:
    """Return True for a `DefinitionBody`, a state or a chain."""
    if isinstance(given, sfn.StateGraph):  # its states cannot be in the graph that is rendered here
        return False
    return isinstance(given, sfn.DefinitionBody) or isinstance(getattr(given, "start_state", None), sfn.State)


def is_chain(body: object) -> bool:
    """Return True for a `DefinitionBody`, a state or a chain that is no file and no text."""
    return is_body(body) and not isinstance(body, sfn.FileDefinitionBody | sfn.StringDefinitionBody)


def read_body(body: object, root: IConstruct, substitutions: Mapping[str, str] | None = None) -> Built:
    """Return the state machine that `StateMachine` makes of `body`.

    Args:
        body: a `DefinitionBody`, a state or a chain.
        root: the app, whose functions the state machine may name by ARN or name.
        substitutions: text or CDK token for every ``${Name}``, of files and texts.

    Raises:
        OSError: the file cannot be read.
        DefinitionError: syntax error, names and substitutions do not match, or a chain has substitutions.
    """
    match body:
        case sfn.FileDefinitionBody():
            machine = read_file(body.path)
        case sfn.StringDefinitionBody():
            machine = _parse_text(body.body)
        case _:
            if substitutions:
                message = f"expected none for a chain, which has no names to replace, got {sorted(substitutions)}"
                raise DefinitionError((Problem("definition_substitutions", message),))
            return read_chainable(body)
    if substitutions is not None:
        machine = substitute(machine, substitutions)
    return _built(machine, root, ())


def _parse_text(text: str) -> Json:
    """Return the JSON value in the text of a `DefinitionBody`.

    Raises:
        DefinitionError: the text is no JSON, or only the deployment knows it.
    """
    if TOKEN.fullmatch(text):
        message = (
            "expected JSON text, got a CDK token, as `Stack.to_json_string` makes; make the text with `json.dumps`, "
            "which keeps the tokens inside"
        )
        raise DefinitionError((Problem("definition_body", message),))
    return parse(text)


def _built(machine: Json, root: IConstruct, statements: Iterable[iam.PolicyStatement]) -> Built:
    """Return `machine` with the functions and activities below `root` that it names."""
    by_text = _functions(root)
    # An alias may have the text of its function with a qualifier: whole texts come first.
    named = (text if text in by_text else token_of_function(text) for text in named_functions(machine))
    functions = {text: by_text[text] for text in named if text in by_text}
    keys = unique_keys(functions.values())
    # Known texts in place of properties: each read is a call to the CDK's process, here for each pair of both.
    ours = {every for text, each in by_text.items() if each in keys for every in (text, f"{text}:*")}
    permitted = read_permissions(machine, root, statements, ours)
    return Built(
        machine=machine,
        keys={**{text: keys[function] for text, function in functions.items()}, **_activities(root)},
        functions={key: function for function, key in keys.items()},
        statements=permitted.statements,
        declared=permitted.declared,
    )


@cache
def _discard() -> str:
    """Return the token for null: `JsonPath.DISCARD`, which only synthesis replaces."""
    return sfn.JsonPath.DISCARD


def _start_state(chainable: object) -> sfn.State:
    if isinstance(chainable, sfn.ChainDefinitionBody):
        chainable = chainable.chainable
    start = getattr(chainable, "start_state", None)
    if isinstance(start, sfn.State) and not isinstance(chainable, sfn.StateGraph):
        return start
    message = f"expected a state or a chain of aws_stepfunctions, got {chainable!r}; "
    remedy = "read definitions in files with Definition.from_asl_file"
    raise DefinitionError((Problem("chainable", message + remedy),))


def _functions(root: IConstruct) -> dict[str, lambda_.IFunction]:
    """Return every function by its texts: ARN and name.

    A singleton has the ARN of an inner construct; the inner construct wins.
    """
    found: Iterable[Any] = root.node.find_all()
    every = [each for each in found if isinstance(each, lambda_.FunctionBase) or _is_qualified(each)]
    # Later entries win in the table below: real functions after singletons.
    every.sort(key=lambda each: isinstance(each, lambda_.Function))
    return {text: each for each in every for text in (each.function_arn, each.function_name)}


def _is_qualified(construct: Any) -> bool:
    """Return True for an alias or a version from attributes, which have no class in Python.

    ``$LATEST`` is the function itself.
    """
    # The type first: for most constructs, the second question would be a call to the CDK's process.
    if isinstance(construct, Construct) or not hasattr(construct, "latest_version"):
        return False
    return not str(construct.function_arn).endswith(":$LATEST")


def _activities(root: IConstruct) -> dict[str, str]:
    """Return a plain ARN per activity token, which the compiler recognizes as an activity."""
    activities = (each for each in root.node.find_all() if isinstance(each, sfn.Activity))
    return {each.activity_arn: f"arn:aws:states:::activity:{each.node.id}" for each in activities}


def _plain(value: Json) -> Json:
    """Return `value` with tokens in place of CloudFormation's intrinsic functions, which hand-written states may have.

    The CDK encodes paths of `sfn.JsonPath` as tokens, in payloads and elsewhere. They become plain paths again.
    """
    match value:
        case dict() if len(value) == 1 and _INTRINSIC.fullmatch(next(iter(value))):
            return Token.as_string(value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case str() if value == _discard():
            return None
        case str() if TOKEN.fullmatch(value) and sfn.JsonPath.is_encoded_json_path(value):
            # A resolved path would lose the tokens inside, and with them references across stacks.
            return (sfn.FieldUtils.render_object({"path": value}) or {})["path.$"]
        case _:
            return value
