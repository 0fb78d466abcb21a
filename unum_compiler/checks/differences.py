"""Parts of definitions that work here, but not as in Step Functions; strict compatibility refuses them.

Sources: the pages of the Step Functions Developer Guide and API Reference that the constants below name; see also
`docs/asl.md`, "Differences from Step Functions".
"""

import re
from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from typing import NamedTuple

from unum_compiler.checks.references import parts, path_expressions, references
from unum_compiler.parsing.holes import texts
from unum_compiler.parsing.tree import Machine, Map, Scope, State, Task, Wait, all_states, scopes_inside
from unum_compiler.problems import Report, shown
from unum_runtime.asl.jsonpath.intrinsics import Call, parse_call
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.places import member
from unum_runtime.json_text import to_ascii, to_readable
from unum_runtime.model.states import ACTIVITY, SIGNAL, Form, Json, Language, Pattern

MOST_CHARACTERS = 1_048_576
"""Longest definition. Source: Step Functions API Reference, CreateStateMachine."""

EXPRESS_S = 300
"""Longest Express execution in seconds. Source: Developer Guide, "Quotas related to state machine executions"."""


_FROM_END = re.compile(r"\[\s*(?:-?\d+\s*,\s*)*-\d+\s*[,\]]")
_WITH_SEED = 3
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")


class Difference(StrEnum):
    """Features that strict compatibility refuses."""

    INLINE_DATA_SET = "data set of an inline Map"
    SIZE = "definition over 1 MiB"
    EXPRESS = "Task in an EXPRESS processor"
    LONG_EXPRESS = "long Wait in an EXPRESS processor"
    NESTED_EXPRESS = "distributed Map in an EXPRESS processor"
    ROLE = "Execution.RoleArn"
    CHILD = "execution of a distributed Map's branch"
    SEED = "States.MathRandom with a seed"
    METADATA = "metadata of lambda:invoke"
    RESULT = "result of an undocumented form"
    PARQUET = "rows of Parquet"
    RECORDS = "records of a ResultWriter"
    INDEX = "index from the end"
    EXCESS = "large JSONata expression"
    EXTENSION = "extension of the language"
    IR = "intermediate representation"


class Found(NamedTuple):
    """One difference.

    Attributes:
        place: JSON path of the definition's part.
        feature: kind of difference.
        reason: what differs, and a remedy.
    """

    place: str
    feature: Difference
    reason: str


def check_differences(machine: Machine, document: Json, called: Collection[str], report: Report) -> None:
    """Report every part of `machine` that would behave otherwise in Step Functions; `called` are invoked functions."""
    if len(to_readable(document)) > MOST_CHARACTERS:
        report.differs("$", Difference.SIZE, f"CreateStateMachine takes at most {MOST_CHARACTERS} characters")
    for found in _differences(machine, called):
        report.differs(*found)


def _differences(machine: Machine, called: Collection[str]) -> Iterator[Found]:
    states = tuple(all_states(machine))
    tasks = (state for state in states if isinstance(state, Task))
    invokes = any(task.form is Form.INVOKE and task.function not in called for task in tasks)
    for state in states:
        for rule in (*_RULES, *((_metadata,) if invokes else ())):
            yield from rule(state)
    for state, around in _inside_distributed(machine, None):
        yield from _child(state)
        if around.express:
            yield from _express(state)


def _inside_distributed(scope: Scope, around: Map | None) -> Iterator[tuple[State, Map]]:
    """Yield the states in branches of distributed Maps, each with the innermost of these Maps."""
    for state in scope.states.values():
        if around is not None:
            yield state, around
        within = state if isinstance(state, Map) and state.distributed else around
        for inner in scopes_inside(state):
            yield from _inside_distributed(inner, within)


def _signals(state: State) -> Iterator[Found]:
    if isinstance(state, Task) and (state.resource or "").startswith(SIGNAL):
        reason = "Step Functions has no signals; wait for a task token, which whoever answers must be given"
        yield Found(member(state.place, "Resource"), Difference.EXTENSION, reason)


def _data_sets(state: State) -> Iterator[Found]:
    if not isinstance(state, Map):
        return
    for field in ("ItemReader", "ResultWriter"):
        if field in state.data and not state.distributed:
            reason = 'Step Functions allows it in a distributed Map only; set "Mode": "DISTRIBUTED"'
            yield Found(member(state.place, field), Difference.INLINE_DATA_SET, reason)
    reader = state.data.get("ItemReader")
    if isinstance(reader, dict) and (reader.get("ReaderConfig") or {}).get("InputType") == "PARQUET":
        reason = "the JSON forms of dates, times and decimals in Parquet are not documented; write CSV or JSONL"
        yield Found(member(state.place, "ItemReader"), Difference.PARQUET, reason)
    writer = state.data.get("ResultWriter")
    if (
        isinstance(writer, dict)
        and (writer.get("WriterConfig") or {}).get("Transformation", _default(writer)) == "NONE"
    ):
        reason = 'the branches are no executions with a name and an ARN; set the "Transformation" COMPACT or FLATTEN'
        yield Found(member(state.place, "ResultWriter"), Difference.RECORDS, reason)


def _default(writer: dict[str, Json]) -> str:
    """Return the transformation of a writer without one. Source: Developer Guide, "ResultWriter (Map)"."""
    return "NONE" if "Resource" in writer else "COMPACT"


def _express(state: State) -> Iterator[Found]:
    # Developer Guide, "Choosing workflow type": what Express workflows lack.
    if isinstance(state, Task) and state.pattern is not Pattern.RESPONSE:
        kind = "an activity" if (state.resource or "").startswith(ACTIVITY) else f"the pattern {state.pattern}"
        yield Found(member(state.place, "Resource"), Difference.EXPRESS, f"Express workflows have no Task with {kind}")
    seconds = state.data.get("Seconds") if isinstance(state, Wait) else None
    if isinstance(seconds, int) and seconds >= EXPRESS_S:
        reason = f"an Express execution ends with States.Timeout after {EXPRESS_S} seconds"
        yield Found(member(state.place, "Seconds"), Difference.LONG_EXPRESS, reason)
    if isinstance(state, Map) and state.distributed:
        yield Found(state.place, Difference.NESTED_EXPRESS, "Express workflows have no distributed Map")


def _role(state: State) -> Iterator[Found]:
    for reference in references(state):
        if _reads(reference.name, "Execution.RoleArn"):
            reason = "it is empty here, because each function has its own role"
            yield Found(reference.place, Difference.ROLE, reason)


def _child(state: State) -> Iterator[Found]:
    fields = [f"Execution.{name}" for name in ("Id", "Name", "RedriveCount", "RedriveTime", "StartTime")]
    for reference in references(state):
        if any(_reads(reference.name, field) for field in fields):
            reason = "a retry or redrive of the Map changes the branch's name and times here; redrives are the Map's"
            yield Found(reference.place, Difference.CHILD, f"{reason}; pass what you need with ItemSelector")


def _reads(name: str, field: str) -> bool:
    """Return True if a read of `name` in the context object, empty for all of it, reads `field`."""
    return not name or f"{name}.".startswith(f"{field}.") or field.startswith(f"{name}.")


def _seed(state: State) -> Iterator[Found]:
    for place, text in path_expressions(state):
        if "States.MathRandom" in text and _has_seed(text):
            reason = "the number is always the same, but another than in Step Functions; compute it in a function"
            yield Found(place, Difference.SEED, reason)


def _has_seed(text: str) -> bool:
    try:
        return any(
            call.name == "States.MathRandom" and len(call.arguments) == _WITH_SEED for call in _calls(parse_call(text))
        )
    except PathSyntaxError:
        return False  # a hole; the deployment fills it


def _calls(part: object) -> Iterator[Call]:
    if isinstance(part, Call):
        yield part
        for argument in part.arguments:
            yield from _calls(argument)


def _index(state: State) -> Iterator[Found]:
    for place, text in path_expressions(state):
        if _FROM_END.search(_QUOTED.sub("''", text)):
            reason = "only slices, such as [-1:], are known to count from the end in Step Functions"
            yield Found(place, Difference.INDEX, reason)


def _excess(state: State) -> Iterator[Found]:
    if state.language is not Language.JSONATA:
        return
    from unum_compiler.jsonata.check import find_excesses  # noqa: PLC0415 - only where a definition needs it

    for data, place in parts(state):
        for field, value in data.items():
            for where, found in find_excesses(value, member(place, field)):
                yield Found(where, Difference.EXCESS, f"it has {found}; compute it in a function, or in parts")


def _metadata(state: State) -> Iterator[Found]:
    """Yield reads of metadata in a machine that invokes functions of the workflow with ``lambda:invoke``."""
    for data, place in parts(state):
        for field, value in data.items():
            for where, _, text in texts(value, member(place, field), field):
                if name := next((each for each in _OF_INVOKE if each in text), None):
                    reason = f"a function of the workflow answers without {shown(name)}; read Payload and StatusCode"
                    yield Found(where, Difference.METADATA, reason)


_OF_INVOKE = ("SdkHttpMetadata", "SdkResponseMetadata", "ExecutedVersion")


def _result(state: State) -> Iterator[Found]:
    if not isinstance(state, Task) or state.resource is None:
        return
    if _discards(state):
        return
    waits = state.pattern is Pattern.SYNC
    if waits and (state.resource.startswith("eks:delete") or state.resource == "elasticmapreduce:createCluster"):
        reason = "its result with .sync is not documented; discard it, or call it without .sync and poll"
        yield Found(member(state.place, "Resource"), Difference.RESULT, reason)
    if state.resource in ("eks:call", "eks:runJob"):
        reason = "the fields of its result are not documented; discard it, or call the cluster in a function"
        yield Found(member(state.place, "Resource"), Difference.RESULT, reason)
    call = "Arguments" if state.language is Language.JSONATA else "Parameters"
    if (
        state.resource == "bedrock:invokeModel"
        and isinstance(value := state.data.get(call), dict)
        and "Output" in value
    ):
        reason = "the form of the reference to the object is not documented; discard it, you know the location"
        yield Found(member(member(state.place, call), "Output"), Difference.RESULT, reason)


def _discards(state: Task) -> bool:
    """Return True if nothing can read the result of `state`."""
    if state.language is Language.JSONPATH:
        return state.data.get("ResultPath", "$") is None
    return "Output" in state.data and "$states.result" not in to_ascii(state.data)


_RULES: tuple[Callable[[State], Iterator[Found]], ...] = (
    _signals,
    _data_sets,
    _role,
    _seed,
    _index,
    _excess,
    _result,
)
