"""Tasks that read items and write results of a distributed Map.

A definition has no such states. They carry out ``ItemReader`` and ``ResultWriter`` before and after the Map, in the
function that calls services. Retriers and catchers of the Map apply to all three states; the fields for the Map's
result apply to the last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.model import ir
from unum_runtime.model.ir import Json

_READER, _WRITER = "ItemReader", "ResultWriter"
_NAMED = {_READER: ir.DATA_SET_TASKS[ir.READ_ITEMS], _WRITER: ir.DATA_SET_TASKS[ir.WRITE_RESULTS]}
_OF_RESULT = frozenset(("ResultSelector", "ResultPath", "OutputPath", "Assign", "Output"))
_MACHINE: Mapping[ir.Language, Mapping[str, str]] = {
    ir.Language.JSONPATH: {"StateMachine.$": "$$.StateMachine.Id"},
    ir.Language.JSONATA: {"StateMachine": "{% $states.context.StateMachine.Id %}"},
}


def task_names(name: str, data: Mapping[str, Json]) -> Iterator[str]:
    """Return reserved names: the Tasks around a Map called `name`."""
    return (_task_name(name, field) for field in (_READER, _WRITER) if field in data)


def with_tasks(state: ir.State, *, names_sources: bool = False) -> Iterator[ir.State]:
    """Yield `state`; around a Map with ``ItemReader`` or ``ResultWriter`` also the Tasks for these fields.

    Args:
        state: any state.
        names_sources: True if the state needs the sources of its items.
    """
    if not isinstance(state, ir.Map):
        yield state
        return
    if _READER in state.data:
        yield _reader(state, names_sources=names_sources)
    yield _map_between(state)
    if _WRITER in state.data:
        yield _writer(state)


def entrances(states: Iterable[ir.State]) -> Mapping[str, str]:
    """Return reading Tasks by name of their Map."""
    return {
        task.next: task.name
        for task in states
        if isinstance(task, ir.Task) and task.resource == ir.READ_ITEMS and task.next is not None
    }


def enter_by_reader(state: ir.State, readers: Mapping[str, str]) -> ir.State:
    """Return `state` with every transition to a Map in `readers` redirected to the Map's reading Task."""
    changes: dict[str, Any] = {}
    target = readers.get(state.next or "")
    if target not in (None, state.name):  # the reader itself must lead to the Map
        changes["next"] = target
    match state:
        case ir.Choice(rules=rules, default=default):
            changes["rules"] = tuple((rule, readers.get(target, target)) for rule, target in rules)
            changes["default"] = readers.get(default or "", default)
        case ir.Parallel(branches=branches):
            changes["branches"] = tuple(readers.get(branch, branch) for branch in branches)
        case ir.Map(start=start):
            changes["start"] = readers.get(start, start)
    if isinstance(state, ir.Work):
        changes["catch"] = tuple(replace(rule, next=readers.get(rule.next, rule.next)) for rule in state.catch)
    return replace(state, **changes)


def _map_between(state: ir.Map) -> ir.Map:
    """Return `state` stripped of fields that move to its Tasks."""
    reads, writes = _READER in state.data, _WRITER in state.data
    moved = {_READER, _WRITER, "Label", *(("ItemsPath", "Items") if reads else ()), *(_OF_RESULT if writes else ())}
    bare = replace(state, data={name: value for name, value in state.data.items() if name not in moved}, reads=reads)
    # The writer needs the results as its input, so they cannot be passed by reference to a later Task.
    return replace(bare, writes=True, next=_task_name(state.name, _WRITER), join=None) if writes else bare


def _reader(state: ir.Map, *, names_sources: bool) -> ir.Task:
    sources = {"Sources": True} if names_sources else {}
    arguments = {
        **_call(state, _READER),
        "ReaderConfig": _template(state.data[_READER].get("ReaderConfig", {})),
        **sources,
    }
    return _task(state, _task_name(state.name, _READER), state.name, ir.READ_ITEMS, _data(state, arguments))


def _writer(state: ir.Map) -> ir.Task:
    config, label = state.data[_WRITER].get("WriterConfig", {}), state.data.get("Label", state.name)
    arguments = {**_call(state, _WRITER), "WriterConfig": config, "Label": label, **_MACHINE[state.language]}
    result = {field: value for field, value in state.data.items() if field in _OF_RESULT}
    data = {**_data(state, arguments), **result}  # the last of the three states applies the fields for the result
    return _task(state, _task_name(state.name, _WRITER), state.next, ir.WRITE_RESULTS, data)


def _task_name(state: str, field: str) -> str:
    return state + _NAMED[field]


def _call(state: ir.Map, field: str) -> dict[str, Json]:
    """Return resource and parameters of the call, if present."""
    source = state.data[field]
    call = source.get("Arguments" if state.language is ir.Language.JSONATA else "Parameters")
    resource = {"Resource": source["Resource"]} if "Resource" in source else {}
    return resource if call is None else {**resource, "Parameters": call}


def _template(config: Mapping[str, Json]) -> dict[str, Json]:
    """Return ``ReaderConfig`` fields, spelled like a payload template."""
    return {"MaxItems.$" if name == "MaxItemsPath" else name: value for name, value in config.items()}


def _data(state: ir.Map, arguments: Mapping[str, Json]) -> dict[str, Json]:
    if state.language is ir.Language.JSONATA:
        return {"Arguments": arguments}
    path = {"InputPath": state.data["InputPath"]} if "InputPath" in state.data else {}
    return {**path, "Parameters": arguments}


def _task(state: ir.Map, name: str, following: str | None, resource: str, data: Mapping[str, Json]) -> ir.Task:
    return ir.Task(
        name=name,
        scope=state.scope,
        data=data,
        next=following,
        language=state.language,
        retry=state.retry,
        catch=state.catch,
        function=SERVICES,
        form=ir.Form.SERVICE,
        resource=resource,
    )
