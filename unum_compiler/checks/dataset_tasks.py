"""The Tasks that read the items of a distributed Map and write its results.

A definition has no such states. They carry out its ``ItemReader`` and ``ResultWriter``, before and after the Map, in
the function that calls services. What the Map says about failures holds for each of the three. All that it says about
its result is for the last of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.model.ir import (
    DATA_SET_TASKS,
    READ_ITEMS,
    WRITE_RESULTS,
    Choice,
    Form,
    Json,
    Language,
    Map,
    Parallel,
    State,
    Task,
    Work,
)

_READER, _WRITER = "ItemReader", "ResultWriter"
_NAMED = {_READER: DATA_SET_TASKS[READ_ITEMS], _WRITER: DATA_SET_TASKS[WRITE_RESULTS]}
_OF_RESULT = frozenset(("ResultSelector", "ResultPath", "OutputPath", "Assign", "Output"))
_MACHINE: Mapping[Language, Mapping[str, str]] = {
    Language.JSONPATH: {"StateMachine.$": "$$.StateMachine.Id"},
    Language.JSONATA: {"StateMachine": "{% $states.context.StateMachine.Id %}"},
}


def task_names(name: str, data: Mapping[str, Json]) -> Iterator[str]:
    """The names that the Tasks around the Map called `name` will have; no state may have one of them."""
    return (_task_name(name, field) for field in (_READER, _WRITER) if field in data)


def with_tasks(state: State) -> Iterator[State]:
    """`state`, and if it is a Map that has ``ItemReader`` or ``ResultWriter`` in its data, the Tasks around it."""
    if not isinstance(state, Map):
        yield state
        return
    if _READER in state.data:
        yield _reader(state)
    yield _between(state)
    if _WRITER in state.data:
        yield _writer(state)


def entrances(states: Iterable[State]) -> Mapping[str, str]:
    """The Task that reads the items of each Map which has one, by the name of the Map."""
    return {
        task.next: task.name
        for task in states
        if isinstance(task, Task) and task.resource == READ_ITEMS and task.next is not None
    }


def entered(state: State, readers: Mapping[str, str]) -> State:
    """`state`, with all that leads to a Map in `readers` leading to the Task that reads its items."""
    changes: dict[str, Any] = {}
    target = readers.get(state.next or "")
    if target not in (None, state.name):
        changes["next"] = target
    match state:
        case Choice(rules=rules, default=default):
            changes["rules"] = tuple((rule, readers.get(target, target)) for rule, target in rules)
            changes["default"] = readers.get(default or "", default)
        case Parallel(branches=branches):
            changes["branches"] = tuple(readers.get(branch, branch) for branch in branches)
        case Map(start=start):
            changes["start"] = readers.get(start, start)
    if isinstance(state, Work):
        changes["catch"] = tuple(replace(rule, next=readers.get(rule.next, rule.next)) for rule in state.catch)
    return replace(state, **changes)


def _between(state: Map) -> Map:
    """`state` without what the Tasks do for it."""
    reads, writes = _READER in state.data, _WRITER in state.data
    dropped = (
        {_READER, _WRITER, "Label"} | ({"ItemsPath", "Items"} if reads else set()) | (_OF_RESULT if writes else set())
    )
    data = {field: value for field, value in state.data.items() if field not in dropped}
    if not writes:
        return replace(state, data=data, reads=reads)
    return replace(state, data=data, reads=reads, writes=True, next=_task_name(state.name, _WRITER), join=None)


def _reader(state: Map) -> Task:
    arguments = {**_given(state, _READER), "ReaderConfig": _settings(state.data[_READER].get("ReaderConfig", {}))}
    return _task(state, _task_name(state.name, _READER), state.name, READ_ITEMS, _data(state, arguments))


def _writer(state: Map) -> Task:
    config, label = state.data[_WRITER].get("WriterConfig", {}), state.data.get("Label", state.name)
    arguments = {**_given(state, _WRITER), "WriterConfig": config, "Label": label, **_MACHINE[state.language]}
    result = {field: value for field, value in state.data.items() if field in _OF_RESULT}
    data = {**_data(state, arguments), **result}
    return _task(state, _task_name(state.name, _WRITER), state.next, WRITE_RESULTS, data)


def _task_name(state: str, field: str) -> str:
    return state + _NAMED[field]


def _given(state: Map, field: str) -> dict[str, Json]:
    """What is called, and with what; both may be absent."""
    source = state.data[field]
    call = source.get("Arguments" if state.language is Language.JSONATA else "Parameters")
    resource = {"Resource": source["Resource"]} if "Resource" in source else {}
    return resource if call is None else {**resource, "Parameters": call}


def _settings(config: Mapping[str, Json]) -> dict[str, Json]:
    """A ``ReaderConfig`` whose only path is in a payload template's spelling."""
    return {"MaxItems.$" if name == "MaxItemsPath" else name: value for name, value in config.items()}


def _data(state: Map, arguments: Mapping[str, Json]) -> dict[str, Json]:
    if state.language is Language.JSONATA:
        return {"Arguments": arguments}
    path = {"InputPath": state.data["InputPath"]} if "InputPath" in state.data else {}
    return {**path, "Parameters": arguments}


def _task(state: Map, name: str, following: str | None, resource: str, data: Mapping[str, Json]) -> Task:
    return Task(
        name=name,
        scope=state.scope,
        data=data,
        next=following,
        language=state.language,
        retry=state.retry,
        catch=state.catch,
        function=SERVICES,
        form=Form.SERVICE,
        resource=resource,
    )
