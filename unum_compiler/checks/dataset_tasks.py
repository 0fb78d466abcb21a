"""Tasks that read items and write results of a distributed Map.

A definition has no such states. They carry out ``ItemReader`` and ``ResultWriter`` before and after the Map, in the
service function. Retriers and catchers of the Map apply to all three states; the fields for the Map's
result apply to the last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.model import states
from unum_runtime.model.states import Json

_READER, _WRITER = "ItemReader", "ResultWriter"
_NAMED = {_READER: states.DATA_SET_TASKS[states.READ_ITEMS], _WRITER: states.DATA_SET_TASKS[states.WRITE_RESULTS]}
_OF_RESULT = frozenset(("ResultSelector", "ResultPath", "OutputPath", "Assign", "Output"))
_MACHINE: Mapping[states.Language, Mapping[str, str]] = {
    states.Language.JSONPATH: {"StateMachine.$": "$$.StateMachine.Id"},
    states.Language.JSONATA: {"StateMachine": "{% $states.context.StateMachine.Id %}"},
}


def task_names(name: str, data: Mapping[str, Json]) -> Iterator[str]:
    """Return reserved names: the Tasks around a Map called `name`."""
    return (_task_name(name, field) for field in (_READER, _WRITER) if field in data)


def with_tasks(state: states.State, *, names_sources: bool = False) -> Iterator[states.State]:
    """Yield `state`; around a Map with ``ItemReader`` or ``ResultWriter`` also the Tasks for these fields.

    Args:
        state: any state.
        names_sources: True if the state needs the sources of its items.
    """
    if not isinstance(state, states.Map):
        yield state
        return
    if _READER in state.data:
        yield _reader(state, names_sources=names_sources)
    yield _map_between(state)
    if _WRITER in state.data:
        yield _writer(state)


def entrances(lowered: Iterable[states.State]) -> Mapping[str, str]:
    """Return reading Tasks by name of their Map."""
    return {
        task.next: task.name
        for task in lowered
        if isinstance(task, states.Task) and task.resource == states.READ_ITEMS and task.next is not None
    }


def enter_by_reader(state: states.State, readers: Mapping[str, str]) -> states.State:
    """Return `state` with every transition to a Map in `readers` redirected to the Map's reading Task."""
    changes: dict[str, Any] = {}
    target = readers.get(state.next or "")
    if target not in (None, state.name):  # the reader itself must lead to the Map
        changes["next"] = target
    match state:
        case states.Choice(rules=rules, default=default):
            changes["rules"] = tuple((rule, readers.get(target, target)) for rule, target in rules)
            changes["default"] = readers.get(default or "", default)
        case states.Parallel(branches=branches):
            changes["branches"] = tuple(readers.get(branch, branch) for branch in branches)
        case states.Map(start=start):
            changes["start"] = readers.get(start, start)
    if isinstance(state, states.Work):
        changes["catch"] = tuple(replace(rule, next=readers.get(rule.next, rule.next)) for rule in state.catch)
    return replace(state, **changes)


def _map_between(state: states.Map) -> states.Map:
    """Return `state` stripped of fields that move to its Tasks."""
    reads, writes = _READER in state.data, _WRITER in state.data
    moved = {_READER, _WRITER, *(("ItemsPath", "Items") if reads else ()), *(_OF_RESULT if writes else ())}
    bare = replace(state, data={name: value for name, value in state.data.items() if name not in moved}, reads=reads)
    # The writer needs the results as its input, so they cannot be passed by reference to a later Task.
    return replace(bare, writes=True, next=_task_name(state.name, _WRITER), join=None) if writes else bare


def _reader(state: states.Map, *, names_sources: bool) -> states.Task:
    sources = {"Sources": True} if names_sources else {}
    arguments = {
        **_call(state, _READER),
        "ReaderConfig": _template(state.data[_READER].get("ReaderConfig", {})),
        **sources,
    }
    return _task(state, _task_name(state.name, _READER), state.name, states.READ_ITEMS, _data(state, arguments))


def _writer(state: states.Map) -> states.Task:
    config, label = state.data[_WRITER].get("WriterConfig", {}), state.data.get("Label", state.name)
    arguments = {**_call(state, _WRITER), "WriterConfig": config, "Label": label, **_MACHINE[state.language]}
    result = {field: value for field, value in state.data.items() if field in _OF_RESULT}
    data = {**_data(state, arguments), **result}  # the last of the three states applies the fields for the result
    return _task(state, _task_name(state.name, _WRITER), state.next, states.WRITE_RESULTS, data)


def _task_name(state: str, field: str) -> str:
    return state + _NAMED[field]


def _call(state: states.Map, field: str) -> dict[str, Json]:
    """Return resource and parameters of the call, if present."""
    source = state.data[field]
    call = source.get("Arguments" if state.language is states.Language.JSONATA else "Parameters")
    resource = {"Resource": source["Resource"]} if "Resource" in source else {}
    return resource if call is None else {**resource, "Parameters": call}


def _template(config: Mapping[str, Json]) -> dict[str, Json]:
    """Return ``ReaderConfig`` fields, spelled like a payload template."""
    return {"MaxItems.$" if name == "MaxItemsPath" else name: value for name, value in config.items()}


def _data(state: states.Map, arguments: Mapping[str, Json]) -> dict[str, Json]:
    if state.language is states.Language.JSONATA:
        return {"Arguments": arguments}
    path = {"InputPath": state.data["InputPath"]} if "InputPath" in state.data else {}
    return {**path, "Parameters": arguments}


def _task(state: states.Map, name: str, following: str | None, resource: str, data: Mapping[str, Json]) -> states.Task:
    return states.Task(
        name=name,
        scope=state.scope,
        data=data,
        next=following,
        language=state.language,
        retry=state.retry,
        catch=state.catch,
        function=SERVICES,
        form=states.Form.SERVICE,
        resource=resource,
    )
