"""Effects of a changed workflow on running executions of the previous version.

Running executions stay on the function versions with which they began, and each version keeps its workflow. Roles,
queues and functions have no versions: a permission that the new workflow does not need is removed for executions of the
old workflow as well. If it was needed after a commit, the failure handler of the old version continues;
other calls fail. Placeholders of deploy-time values are filled in from a definition that has the values.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from unum_compiler.analysis.edges import (
    ENTRY,
    Operation,
    function_edges,
    splitting_functions,
    store_operations,
    timed_functions,
    uses_timer,
)
from unum_compiler.analysis.event_bounds import waits_long
from unum_compiler.parsing.task_resources import SERVICES, activities
from unum_compiler.services.started_workflows import arguments_of
from unum_runtime.model.ir import Workflow
from unum_runtime.model.placeholders import ARRAY, JSON, NUMBER
from unum_runtime.model.states import Form, Json, Retrier, State, Work
from unum_runtime.protocol.control.deletions.removal import ACTIVITY, FUNCTION, SCHEDULES, TIMER


class Effect(StrEnum):
    """Effects of a change."""

    BREAKS = "breaks"
    """Running executions can fail."""

    TAKEN_OVER = "taken over"
    """The failure handler continues running executions in place of a function that loses a permission."""

    CHANGED = "changed"
    """Executions that start later are different; running executions stay as they are."""

    REMOVED = "removed"
    """As `CHANGED`; nothing that running executions need is removed."""

    ADDED = "added"
    """As `CHANGED`."""

    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes:
        effect: effect on running executions.
        subject: part of the workflow or of its deployment.
        message: difference, and its consequence.
        part: name of the part of the deployment that is removed, see
            `unum_runtime.protocol.control.deletions.removal`; None if none is.
    """

    effect: Effect
    subject: str
    message: str
    part: str | None = None

    def __str__(self) -> str:
        return f"{self.effect:<9}  {self.subject}: {self.message}"


def changes(old: Workflow, new: Workflow, kept: Collection[str] = ()) -> list[Change]:
    """Return all differences between two workflows, those that break executions first.

    Retention is no part of a workflow, so it is not compared.

    Args:
        old: workflow of executions that run.
        new: workflow of executions that start later.
        kept: names of parts that stay in any case.
    """
    found = [
        *_functions(old, new),
        *_permissions(old, new, {name.removeprefix(FUNCTION) for name in kept}),
        *_shared(old, new, kept),
        *_workflow(old, new),
        *_states(old, new),
    ]
    order = list(Effect)
    return sorted(
        (change for change in found if change.part not in kept), key=lambda change: order.index(change.effect)
    )


def _functions(old: Workflow, new: Workflow) -> Iterator[Change]:
    # Removing a function deletes its versions, on which running executions stay.
    before, after = function_edges(old), function_edges(new)
    for function in before.keys() - after.keys():
        message = "is removed: executions that reach it cannot continue"
        yield Change(Effect.BREAKS, _display_name(function), message, f"{FUNCTION}{function}")
    for function in after.keys() - before.keys():
        yield Change(Effect.ADDED, _display_name(function), "is new")


def _permissions(old: Workflow, new: Workflow, kept: Collection[str]) -> Iterator[Change]:
    """Yield the permissions that functions of both workflows lose."""
    edges = function_edges(new)
    for function, targets in function_edges(old).items():
        if function not in edges:
            continue
        # Without a checkpoint, nothing is committed that the failure handler could continue from.
        can_hand_over = not any(task.committed_by for task in old.tasks if task.function == function)
        for target in sorted(set(targets) - set(edges[function])):
            is_taken_over = can_hand_over and (target in edges or target in kept)
            yield _lost_permission(function, f"to invoke {_display_name(target)}", is_taken_over=is_taken_over)
        for operation in sorted(store_operations(old, function) - store_operations(new, function)):
            is_taken_over = can_hand_over and operation in _AFTER_COMMIT
            yield _lost_permission(function, f'to "{operation}" in the store', is_taken_over=is_taken_over)
        if function in set(timed_functions(old)) - set(timed_functions(new)):
            is_taken_over = can_hand_over and (uses_timer(new) or TIMER in kept)
            yield _lost_permission(function, "to send delayed events", is_taken_over=is_taken_over)
        # A timed function may invoke itself anyway, because the timer's events go to it.
        if function in set(splitting_functions(old)) - set(splitting_functions(new)) - set(timed_functions(new)):
            yield _lost_permission(function, "to invoke itself for parts of a Map", is_taken_over=can_hand_over)


def _shared(old: Workflow, new: Workflow, kept: Collection[str]) -> Iterator[Change]:
    """Yield removed resources that all executions share regardless of version."""
    if uses_timer(old) and not (uses_timer(new) or TIMER in kept):
        message = "is removed with its queue: waiting events and retries are never delivered"
        yield Change(Effect.BREAKS, "timer", message, TIMER)
    elif waits_long(old) and not waits_long(new):
        message = "are removed with their group: events of long waits are never delivered"
        yield Change(Effect.BREAKS, "schedules", message, SCHEDULES)
    for activity in sorted(set(activities(old)) - set(activities(new))):
        message = "is removed with its queue: no worker gets the waiting Tasks"
        yield Change(Effect.BREAKS, f"activity {activity}", message, f"{ACTIVITY}{activity}")
    for action, resource in sorted(_calls(old) - _calls(new)):
        message = f"the function that calls services loses the permission for {action} on {resource}"
        yield Change(Effect.BREAKS, "services", message)


def _calls(workflow: Workflow) -> set[tuple[str, str]]:
    """Return (action, resource) of every permission that service Tasks need."""
    services = [task for task in workflow.tasks if task.form is Form.SERVICE]
    if not services:
        return set()
    # Loads botocore's models, which takes half a second: only for workflows with such Tasks.
    from unum_compiler.services.task_permissions import task_statements  # noqa: PLC0415

    return {
        (action, resource)
        for task in services
        for statement in task_statements(task, arguments_of(task))
        for action in statement.actions
        for resource in statement.resources
    }


def _workflow(old: Workflow, new: Workflow) -> Iterator[Change]:
    if old.name != new.name:
        message = f"{old.name} → {new.name}: clients of the new workflow do not find executions of the old one"
        yield Change(Effect.CHANGED, "name", message)
    budgets = ("hop_budget", "width_budget", "invocation_budget")
    for name in ("start_at", *budgets, "collection", "timeout_s", "payload_limit", "small_results", "strict"):
        before, after = getattr(old, name), getattr(new, name)
        effect = Effect.UNCHANGED if before == after else Effect.CHANGED
        message = _shorten(before) if before == after else f"{_shorten(before)} → {_shorten(after)}"
        yield Change(effect, name.removesuffix("_s").replace("_", " "), message)


def _states(old: Workflow, new: Workflow) -> Iterator[Change]:
    for name in sorted(old.states.keys() | new.states.keys()):
        before, after = old.states.get(name), new.states.get(name)
        if before is None:
            yield Change(Effect.ADDED, f"state {name}", f"a {type(after).__name__}")
        elif after is None:
            yield Change(Effect.REMOVED, f"state {name}", f"was a {type(before).__name__}")
        elif before == after:
            yield Change(Effect.UNCHANGED, f"state {name}", f"a {type(after).__name__}")
        else:
            yield Change(Effect.CHANGED, f"state {name}", _difference(before, after))


def _difference(before: State, after: State) -> str:
    if type(before) is not type(after):
        return f"{type(before).__name__} → {type(after).__name__}"
    differences: list[str] = []
    for field in fields(before):
        one, other = getattr(before, field.name), getattr(after, field.name)
        if field.name == "data":
            differences += _entries(one, other)
        elif one != other:
            differences.append(f"{field.name} {_shorten(one)} → {_shorten(other)}")
    return "; ".join(differences)


def _entries(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterable[str]:
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return [f"{name} {_shorten(before.get(name))} → {_shorten(after.get(name))}" for name in names]


def _shorten(value: Json) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 60


_OWN = {ENTRY: "the entry function", SERVICES: "the function that calls services"}


def _display_name(function: str) -> str:
    return _OWN.get(function, f"function {function}")


_AFTER_COMMIT = frozenset({Operation.ADD, Operation.COLLECT})
"""Operations that a delivery does only after its commit."""


def _lost_permission(function: str, action: str, *, is_taken_over: bool) -> Change:
    effect = Effect.TAKEN_OVER if is_taken_over else Effect.BREAKS
    return Change(effect, _display_name(function), f"loses the permission {action}")


_PLACEHOLDER = re.compile(r"\$\{([A-Za-z][A-Za-z0-9]*)\}")
_VALUE = re.compile(rf"\$\{{(?:{NUMBER}|{ARRAY}|{JSON})\d+\}}")  # replaced with its quotes
_NUMBERS = tuple(field.name for field in fields(Retrier) if field.name != "errors")


def with_values_of(deployed: Workflow, new: Workflow) -> Workflow:
    """Return `new` with the values that `deployed` has in place of its placeholders, so that both compare equal.

    A text of a state that `deployed` has differently keeps its placeholders.
    """
    states = {
        name: _with_values_of(deployed.states[name], state) if name in deployed.states else state
        for name, state in new.states.items()
    }
    return replace(new, states=states, timeout_s=_number(deployed.timeout_s, new.timeout_s))


def _with_values_of(deployed: State, new: State) -> State:
    filled = replace(new, data=_filled(deployed.data, new.data))
    if not (isinstance(filled, Work) and isinstance(deployed, Work) and len(filled.retry) == len(deployed.retry)):
        return filled
    pairs = zip(deployed.retry, filled.retry, strict=True)
    return replace(filled, retry=tuple(_with_numbers_of(old, each) for old, each in pairs))


def _with_numbers_of(deployed: Retrier, new: Retrier) -> Retrier:
    return replace(new, **{name: _number(getattr(deployed, name), getattr(new, name)) for name in _NUMBERS})


def _number(old: Json, new: Json) -> Json:
    return old if isinstance(new, str) and _PLACEHOLDER.fullmatch(new) else new


def _filled(old: Json, new: Json) -> Json:
    """Return `new` with texts of `old` if both differ only by placeholders."""
    match old, new:
        case dict(), dict():
            return {key: _filled(old.get(key), value) for key, value in new.items()}
        case list(), list() if len(old) == len(new):
            return [_filled(one, other) for one, other in zip(old, new, strict=True)]
        case str(), str() if _fits(old, new):
            return old
        case _, str() if old is not None and _VALUE.fullmatch(new):
            return old
    return new


def _fits(old: str, new: str) -> bool:
    """Return True if `new` becomes `old` when its placeholders get values, each the same value everywhere."""
    pattern, names = "", set[str]()
    begin = 0
    for found in _PLACEHOLDER.finditer(new):
        name = found[1]
        pattern += re.escape(new[begin : found.start()]) + (f"(?P={name})" if name in names else f"(?P<{name}>.*)")
        names.add(name)
        begin = found.end()
    return re.fullmatch(pattern + re.escape(new[begin:]), old, re.DOTALL) is not None
