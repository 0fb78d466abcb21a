"""State machines built with `aws_cdk.aws_stepfunctions`; the only module that knows the CDK's objects.

The CDK renders them to the Amazon States Language. This module maps the tokens in the text back to functions.

The author of a chain declares permissions of Tasks, as `StateMachine` gives them to its role:
`CallAwsService(iam_resources=...)` names the resources, and nothing is derived from the parameters beside it.
`runtime_statements` adds what this library does where Step Functions has another way.

Objects that the CDK resolves at synthesis, such as ``Fn.condition_if``, are lost on their way to Python. The CDK's own
process has them. It hands them over when it renders the definition as for `StateMachine`, to a resolver that notes
every object with its place.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import jsii
from aws_cdk import (
    CfnElement,
    DefaultTokenResolver,
    Duration,
    IPostProcessor,
    IResolvable,
    IResolveContext,
    ITokenResolver,
    Reference,
    Stack,
    StringConcat,
    Token,
    Tokenization,
    TokenizedStringFragments,
)
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct, IConstruct

from unum_compiler.frontends.construct_attributes import arn_of, name_of
from unum_compiler.frontends.deploy_time_values import (
    TOKEN,
    named_functions,
    substitute,
    take_objects,
    token_of_function,
)
from unum_compiler.frontends.files import read_file
from unum_compiler.frontends.function_keys import unique_keys
from unum_compiler.parsing.document import parse
from unum_compiler.services.service_arns import PASSED_TO
from unum_runtime.asl.places import element, member
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
    body = take_objects(restore_objects(graph.to_graph_json(query_language), start, graph))
    app = _App.of(start.node.root)
    machine = _plain(body.machine, app.functions)
    if query_language is not None:
        # The graph's states omit their query language if it is the same.
        machine = {"QueryLanguage": _LANGUAGES[query_language], **machine}
    if comment is not None:
        machine = {"Comment": comment, **machine}
    return _built(machine, app, graph.policy_statements)._replace(values=body.values)


def is_body(value: object) -> bool:
    """Return True for a `DefinitionBody`, a state or a chain."""
    if isinstance(value, sfn.StateGraph):  # its states cannot be in the graph that is rendered here
        return False
    return isinstance(value, sfn.DefinitionBody) or isinstance(getattr(value, "start_state", None), sfn.State)


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
    return _built(machine, _App.of(root), ())


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


class _App(NamedTuple):
    """Constructs of an app that a definition may name.

    Attributes:
        every: all constructs; each search through the app is a long answer of the CDK's process.
        functions: functions by their texts: ARN and name.
    """

    every: Sequence[Any]
    functions: Mapping[str, lambda_.IFunction]

    @classmethod
    def of(cls, root: IConstruct) -> "_App":
        """Return the app with the construct `root` at its top."""
        every = root.node.find_all()
        return cls(every, _functions(every))


def _built(machine: Json, app: _App, statements: Iterable[iam.PolicyStatement]) -> Built:
    """Return `machine` with the functions and activities of `app` that it names."""
    by_text = app.functions
    # An alias may have the text of its function with a qualifier: whole texts come first.
    named = (text if text in by_text else token_of_function(text) for text in named_functions(machine))
    functions = {text: by_text[text] for text in named if text in by_text}
    keys = unique_keys(functions.values())
    # Known texts in place of properties: each read is a request to the CDK's process, here for each pair of both.
    ours = {every for text, each in by_text.items() if each in keys for every in (text, f"{text}:*")}
    permitted = read_permissions(machine, app.every, statements, ours)
    return Built(
        machine=machine,
        keys={**{text: keys[function] for text, function in functions.items()}, **_activities(app.every)},
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


def _functions(found: Iterable[Any]) -> dict[str, lambda_.IFunction]:
    """Return every function in `found` by its texts: ARN and name.

    A singleton has the ARN of an inner construct; the inner construct wins.
    """
    every = [each for each in found if isinstance(each, lambda_.FunctionBase) or _is_qualified(each)]
    # Later entries win in the table below: real functions after singletons.
    every.sort(key=lambda each: isinstance(each, lambda_.Function))
    return {text: each for each in every for text in (arn_of(each), name_of(each))}


def _is_qualified(construct: Any) -> bool:
    """Return True for an alias or a version from attributes, which have no class in Python.

    ``$LATEST`` is the function itself.
    """
    # The type first: for most constructs, the second question would be a request to the CDK's process.
    if isinstance(construct, Construct) or not hasattr(construct, "latest_version"):
        return False
    return not str(construct.function_arn).endswith(":$LATEST")


def _activities(found: Iterable[Any]) -> dict[str, str]:
    """Return a plain ARN per activity token in `found`, which the compiler recognizes as an activity."""
    activities = (each for each in found if isinstance(each, sfn.Activity))
    return {each.activity_arn: f"arn:aws:states:::activity:{each.node.id}" for each in activities}


def _plain(value: Json, functions: Collection[str]) -> Json:
    """Return `value` with tokens in place of CloudFormation's intrinsic functions, which hand-written states may have.

    The CDK encodes paths of `sfn.JsonPath` as tokens, in payloads and elsewhere. They become plain paths again. Texts
    of `functions` are no paths, and need no question.
    """
    match value:
        case dict() if len(value) == 1 and _INTRINSIC.fullmatch(next(iter(value))):
            return Token.as_string(value)
        case dict():
            return {key: _plain(item, functions) for key, item in value.items()}
        case list():
            return [_plain(item, functions) for item in value]
        case str() if value == _discard():
            return None
        case str() if value not in functions and TOKEN.fullmatch(value) and sfn.JsonPath.is_encoded_json_path(value):
            # A resolved path would lose the tokens inside, and with them references across stacks.
            return (sfn.FieldUtils.render_object({"path": value}) or {})["path.$"]
        case _:
            return value


_RULES = frozenset(("events:PutTargets", "events:PutRule", "events:DescribeRule"))
"""For rules that report the end of a job to Step Functions; this library polls jobs."""

_DATA_SETS = frozenset(
    ("s3:AbortMultipartUpload", "s3:GetObject", "s3:ListBucket", "s3:ListMultipartUploadParts", "s3:PutObject")
)
"""Of item readers and result writers, on whole buckets; `dataset_statements` derives narrower ones."""

_ASSUME, _INVOKE, _PASS = ["sts:AssumeRole"], ["lambda:InvokeFunction"], ["iam:PassRole"]
_CALL = re.compile(r".*:states:::(?P<service>[a-z-]+):(?P<action>[A-Za-z]+)(?P<pattern>\..+)?")
_START = ("states", "startExecution")


class Permitted(NamedTuple):
    """Permissions of a chain.

    Attributes:
        statements: those that the service function needs.
        declared: IAM actions in the statements of a Task, by its name, for Tasks with such statements.
    """

    statements: tuple[iam.PolicyStatement, ...]
    declared: Mapping[str, tuple[str, ...]]


def read_permissions(
    machine: Json, found: Iterable[Any], statements: Iterable[iam.PolicyStatement], ours: Collection[str]
) -> Permitted:
    """Return the permissions among `statements`, those of a graph, that its Tasks need here.

    Args:
        machine: the graph in the Amazon States Language.
        found: constructs of the app, whose Tasks have statements.
        statements: all statements of the graph.
        ours: ARNs of functions of the definition, which other grants allow to invoke.
    """
    # The CDK's process has one object for each statement, and a new one in Python for each question.
    every = {_identity(each): each for each in statements}
    if not every:
        return Permitted((), MappingProxyType({}))
    states, declared = dict(_states(machine)), dict[str, tuple[str, ...]]()
    actions = {identity: each.actions for identity, each in every.items()}
    kept = {identity: each for identity, each in every.items() if not _DATA_SETS.issuperset(actions[identity])}
    needless = {identity for identity, each in every.items() if _is_needless(each, actions[identity], ours)}
    for name, own in _tasks(found, states, every):
        # Called by another role, or by an alias of a workflow: `task_statements` derives what that takes.
        is_derived = "Credentials" in states[name] or _call(states[name]) == _START
        needed = [] if is_derived else [each for each in own if each not in needless]
        for identity in own:
            kept.pop(identity, None)
        kept |= {identity: _with_service(every[identity], states[name]) for identity in needed}
        if needed:
            declared[name] = tuple(action for each in needed for action in actions[each])
    statements = (each for identity, each in kept.items() if identity not in needless and actions[identity] != _ASSUME)
    return Permitted(tuple(statements), MappingProxyType(declared))


def _identity(statement: iam.PolicyStatement) -> str:
    return str(statement.__jsii_ref__.ref)  # type: ignore[attr-defined]  # of each object of the CDK's process


def _tasks(
    found: Iterable[Any], states: Mapping[str, Any], every: Mapping[str, iam.PolicyStatement]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the Tasks of the graph that have statements: their names, and the identities of the statements."""
    for task in found:
        if isinstance(task, sfn.TaskStateBase):
            own = [_identity(each) for each in task._task_policies or ()]  # noqa: SLF001 - what the CDK has for them
            # Tasks of other graphs may have the same name, never the same statements.
            if own and every.keys() >= {*own} and (name := task.state_id) in states:
                yield name, own


def _states(value: Json) -> Iterator[tuple[str, Any]]:
    """Yield all states inside `value`, by name."""
    if isinstance(value, list):
        for each in value:
            yield from _states(each)
    elif isinstance(value, dict):
        states = value.get("States")
        if isinstance(states, dict) and "StartAt" in value:
            yield from states.items()
        for each in value.values():
            yield from _states(each)


def _call(state: Any) -> tuple[str, str]:
    """Return service and action of the optimized integration that a Task calls; empty texts for others."""
    match = _CALL.fullmatch(str(state.get("Resource", "")))
    return ("", "") if match is None else (match["service"], match["action"])


def _with_service(statement: iam.PolicyStatement, state: Any) -> iam.PolicyStatement:
    """Return `statement`; a permission to pass roles is limited to the service that the Task calls."""
    services = PASSED_TO.get(_call(state)[0])
    if services is None or statement.actions != _PASS or statement.conditions:
        return statement
    return statement.copy(conditions={"StringEquals": {"iam:PassedToService": [*services]}})


def _is_needless(statement: iam.PolicyStatement, actions: Sequence[str], ours: Collection[str]) -> bool:
    """Return True if `statement` of `actions` allows calls that never happen, or, of `ours`, other grants allow."""
    return _RULES.issuperset(actions) or (actions == _INVOKE and {*ours}.issuperset(statement.resources))


LOST = ("<unresolved-token>", "<unresolved-lazy>")
"""What the CDK gives Python in place of such objects."""


def restore_objects(machine: Json, start: sfn.State, graph: sfn.StateGraph) -> Any:
    """Restore lost objects of `graph` in `machine`, its JSON: texts as tokens, other objects unchanged.

    Raises:
        DefinitionError: an object names a resource of another stack without a reference to it.
    """
    text = str(machine)
    if not any(lost in text for lost in LOST):
        return machine
    noting = _Noting()
    body = sfn.DefinitionBody.from_chainable(start)
    principal = iam.ServicePrincipal("states.amazonaws.com")
    config = body.bind(start, principal, sfn.StateMachineProps(definition_body=body), graph)
    stack = Stack.of(start)
    Tokenization.resolve(config.definition_string, scope=stack, resolver=noting, preparing=False)
    return _Restoring(stack, noting.found).value(machine, (), "$")


@jsii.implements(ITokenResolver)
class _Resolving:
    """The CDK's way to resolve, from which others deviate."""

    def __init__(self) -> None:
        self._default = DefaultTokenResolver(StringConcat())

    def resolve_token(self, t: IResolvable, context: IResolveContext, post_processor: IPostProcessor) -> Any:
        return self._default.resolve_token(t, context, post_processor)

    def resolve_string(self, s: TokenizedStringFragments, context: IResolveContext) -> Any:
        return self._default.resolve_string(s, context)

    def resolve_list(self, l: Sequence[str], context: IResolveContext) -> Any:  # noqa: E741 - the name in the interface
        return self._default.resolve_list([*l], context)


class _Noting(_Resolving):
    """Notes objects inside a definition.

    Attributes:
        found: objects by their place: names and indexes as texts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[tuple[str, ...], IResolvable] = {}

    def resolve_token(self, t: IResolvable, context: IResolveContext, post_processor: IPostProcessor) -> Any:
        if place := tuple(context.document_path):
            self.found[place] = t
            return ""
        return super().resolve_token(t, context, post_processor)  # the definition itself

    def resolve_string(self, s: TokenizedStringFragments, context: IResolveContext) -> Any:
        return "" if context.document_path else super().resolve_string(s, context)

    def resolve_list(self, l: Sequence[str], context: IResolveContext) -> Any:  # noqa: ARG002, E741 - as above
        return ""  # the CDK would add a custom resource for an array


class _Unreferenced(_Resolving):
    """Resolves all but references, which lead to any stack."""

    def resolve_token(self, t: IResolvable, context: IResolveContext, post_processor: IPostProcessor) -> Any:
        return "" if Reference.is_reference(t) else super().resolve_token(t, context, post_processor)


class _Restoring:
    """One pass over a definition.

    Attributes:
        stack: stack of the definition.
        found: lost objects by place.
    """

    def __init__(self, stack: Stack, found: dict[tuple[str, ...], IResolvable]) -> None:
        self.stack, self.found = stack, found
        elements = (each for each in stack.node.find_all() if isinstance(each, CfnElement))
        self.names = {str(stack.resolve(each.logical_id)) for each in elements}

    def value(self, value: Json, path: tuple[str, ...], place: str) -> Any:
        """Return `value` at `path` with what was lost inside; `place` is for people."""
        if isinstance(value, dict):
            return {key: self.value(item, (*path, key), member(place, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, (*path, str(at)), element(place, at)) for at, item in enumerate(value)]
        return self._object(self.found[path], place) if value in LOST and path in self.found else value

    def _object(self, lost: IResolvable, place: str) -> Any:
        own = Tokenization.resolve(lost, scope=self.stack, resolver=_Unreferenced(), preparing=False)
        if others := sorted({*_named(own)} - self.names):
            message = f"expected a reference, got the name {others[0]!r} of what is not in this stack"
            raise DefinitionError((Problem(place, f"{message}; pass the resource's own attribute"),))
        return Token.as_string(lost) if _is_text(self.stack.resolve(lost)) else lost


def _is_text(resolved: Json) -> bool:
    """Return True for a text, or a function of CloudFormation, whose value is one."""
    return isinstance(resolved, str) or (isinstance(resolved, dict) and any(map(_is_function, resolved)))


def _is_function(name: str) -> bool:
    return name == "Ref" or name.startswith("Fn::")


def _named(value: Json) -> Iterator[str]:
    """Yield the logical names to which CloudFormation functions in `value` refer."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "Ref" and not str(inner).startswith("AWS::"):
                yield str(inner)
            elif key == "Fn::GetAtt":
                yield str(inner[0] if isinstance(inner, list) else inner).partition(".")[0]
            else:
                yield from _named(inner)
