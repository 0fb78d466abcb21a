"""Redrives on another definition: what can continue keeps its results, and what cannot is refused by its name."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.map_platform import Later, deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_compiler import graph as g
from unum_compiler.definition import Definition as Source
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import ExecutionNotRedrivable, InconsistentHistory
from unum_runtime.model.checkpoint import Checkpoint, Failure, Status
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import checkpoint_key
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.redrives import redrive as redrive_module
from unum_runtime.protocol.control.redrives.redrive import check_steps, redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.start_records import start_record

Definition = dict[str, Any]


def fragile(event: Any) -> Any:
    raise ValueError(event)


def failed(definition: Definition, value: Any, small_results: bool = False, **functions: Any) -> Platform:  # noqa: FBT001, FBT002
    platform = compiled(definition, small_results, **functions)
    platform.start("e", value)
    deliver_all(platform)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    return platform


def compiled(definition: Definition, small_results: bool, **functions: Any) -> Platform:  # noqa: FBT001
    platform = deployed(definition, **functions)
    platform.workflow = replace(platform.workflow, small_results=small_results)
    return platform


def on_new(old: Platform, definition: Definition, small_results: bool = False, **functions: Any) -> Platform:  # noqa: FBT001, FBT002
    """Redrive on another definition; the platform of that."""
    newer = compiled(definition, small_results, **functions)
    newer.clock, newer.memory, newer.store = old.clock, old.memory, old.memory
    redrive(newer.runtime(), "e", old=old.workflow)
    nudge(newer.runtime(), "e")  # also later ones find their way
    newer.sent = [*{str(event.name): event for event in newer.sent}.values()]
    deliver_all(newer)
    return newer


def with_pass(definition: Definition, after: str) -> Definition:
    """A Pass state after a state of the top level."""
    states = {**definition["States"]}
    states["P"] = {"Type": "Pass", "Next": states[after]["Next"]}
    states[after] = {**states[after], "Next": "P"}
    return {**definition, "States": states}


def test_a_mended_function_behind_a_new_state_runs() -> None:
    old = failed(chain("A", "B", "C"), 1, B=fragile)
    new = on_new(old, with_pass(chain("A", "B", "C"), "A"))
    assert (result(new), new.calls) == (1, {"B": 1, "C": 1})


def test_the_first_state_may_have_failed() -> None:
    old = failed(chain("A", "B"), 1, A=fragile)
    new = on_new(old, chain("X", "A", "B"))
    assert new.calls == {"X": 1, "A": 1, "B": 1}


def choosing(limit: int) -> Definition:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "Which"
    definition["States"]["Which"] = {
        "Type": "Choice",
        "Choices": [{"Variable": "$", "NumericGreaterThan": limit, "Next": "B"}],
    }
    return definition


def test_a_failure_without_user_code_is_mended_by_the_definition() -> None:
    old = failed(choosing(5), 1)
    with pytest.raises(ExecutionNotRedrivable, match="by no user code"):
        redrive(old.runtime(), "e")
    new = on_new(old, choosing(0))
    assert (result(new), new.calls) == (1, {"B": 1})


def test_definition_mends_a_fan_out_that_could_not_open_at_the_start() -> None:
    old = failed(mapped("A", ItemsPath="$.items"), {"list": [1]})
    new = on_new(old, mapped("A", ItemsPath="$.list"))
    assert (result(new), new.calls) == ([1], {"A": 1})


def test_new_states_in_ended_branches_mend_a_failed_join() -> None:
    old = failed(mapped("A", ResultSelector={"x.$": "$[9]"}), [1, 2])
    new = on_new(old, mapped("A", "X"))
    assert (result(new), new.calls) == ([1, 2], {"X": 2})


def test_a_first_task_of_a_branch_that_failed_runs_on_the_new_definition() -> None:
    old = failed(mapped("A", after="C"), [1], A=fragile)
    new = on_new(old, mapped("A", "X", after="C"))
    assert (result(new), new.calls) == ([1], {"A": 1, "X": 1, "C": 1})


def test_failure_behind_a_map_is_mended_and_the_map_keeps_its_results() -> None:
    def behind_a_map(limit: int) -> Definition:
        definition = mapped("A", after="B")
        definition["States"]["M"]["Next"] = "Which"
        rule = {"Variable": "$[0]", "NumericGreaterThan": limit, "Next": "B"}
        definition["States"]["Which"] = {"Type": "Choice", "Choices": [rule]}
        return definition

    old = failed(behind_a_map(5), [1, 2])
    new = on_new(old, behind_a_map(0))
    assert (result(new), new.calls) == ([1, 2], {"B": 1})


def test_a_failure_without_user_code_that_stays_is_refused() -> None:
    old = failed(choosing(5), 1)
    before = {**old.memory._items}
    with pytest.raises(ExecutionNotRedrivable, match="by no user code"):
        on_new(old, choosing(3))
    assert old.memory._items == before


@pytest.mark.parametrize("small_results", [False, True], ids=["items", "packs"])
@pytest.mark.parametrize(
    ("old_branch", "new_branch", "calls"),
    [
        (("A", "B"), ("A", "B"), {"B": 1, "C": 1}),
        (("A", "B"), ("A", "X", "B"), {"X": 1, "B": 1, "C": 1}),
        (("A", "B"), ("A", "B", "X"), {"B": 1, "X": 5, "C": 1}),
    ],
)
def test_results_of_branches_are_kept(old_branch: Any, new_branch: Any, calls: Any, *, small_results: bool) -> None:
    def broken(event: Any) -> Any:
        return fragile(event) if event == 4 else event

    old = failed(mapped(*old_branch, after="C"), [0, 1, 2, 3, 4], small_results, B=broken)
    definition = mapped(*new_branch, after="C")
    definition["States"]["Q"] = {"Type": "Pass", "Next": "M"}
    new = on_new(old, {**definition, "StartAt": "Q"}, small_results)
    assert (result(new), new.calls) == ([0, 1, 2, 3, 4], calls)


def behind(task: str, definition: Definition) -> Definition:
    """A Task before the first state."""
    first = {"Type": "Task", "Resource": task, "Next": definition["StartAt"]}
    return {"StartAt": task, "States": {task: first, **definition["States"]}}


def before_the_map(definition: Definition) -> Definition:
    """A Map before the first state."""
    first = {"Type": "Map", "ItemProcessor": chain("X"), "Next": definition["StartAt"]}
    return {"StartAt": "First", "States": {"First": first, **definition["States"]}}


GONE = "execution 'e' has committed it, and in the definition deployed now it"
NO_STATE = "state 'A': by the definition deployed now, no state runs after it; redrive on the original one"
OTHERS = "state 'M': had 2 branches, and would have others now: fork at it instead"


@pytest.mark.parametrize(
    ("old", "value", "new", "reason"),
    [
        (chain("A", "B"), 1, chain("X", "B"), f"state 'A': {GONE} does not exist"),
        (chain("A", "B"), 1, {**chain("A"), "States": {"A": {**chain("A")["States"]["A"]}}}, NO_STATE),
        (mapped("A", "B", after="C"), [1], mapped("X", "B", after="C"), f"state 'A': {GONE} does not exist"),
        (mapped("A", "B"), [1], chain("T", "M"), f"state 'M': {GONE} is a Task instead of a Map"),
        (mapped("A", "B"), [1, 2], mapped("A", "B", ItemsPath="$[0:1]"), OTHERS),
        (
            behind("S", mapped("A", "B")),
            [1],
            behind("S", behind("T", mapped("A", "B"))),
            "state 'M': its branches have results, and by the definition deployed now another state comes first",
        ),
        (
            behind("S", mapped("A", "B")),
            [1],
            behind("S", before_the_map(mapped("A", "B"))),
            "state 'M': its branches have results, and by the definition deployed now another state comes first",
        ),
    ],
)
def test_what_cannot_continue_is_refused_before_anything_is_written(
    old: Definition, value: Any, new: Definition, reason: str
) -> None:
    platform = failed(old, value, B=fragile)
    before = {**platform.memory._items}
    with pytest.raises(ExecutionNotRedrivable, match=exactly(reason)):
        on_new(platform, new)
    assert platform.memory._items == before


def test_a_state_that_a_catcher_has_led_to_must_exist() -> None:
    caught = chain("A", "B", "H")
    caught["States"]["A"]["Catch"] = [{"ErrorEquals": ["States.ALL"], "Next": "H"}]
    platform = failed(caught, 1, A=fragile, H=fragile)
    said = "state 'H': a catcher of 'A' has led to it, and it does not exist in the definition deployed now"
    with pytest.raises(ExecutionNotRedrivable, match=exactly(said)):
        on_new(platform, chain("A", "B"))


def test_state_that_a_catcher_has_led_to_runs_by_the_new_definition() -> None:
    caught = chain("A", "H")
    caught["States"]["A"] |= {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "H"}]}
    new = on_new(failed(caught, 1, A=fragile, H=fragile), with_pass(caught, "A"))
    assert new.calls == {"H": 1}


def test_another_kind_and_another_scope_are_refused() -> None:
    platform = failed(chain("A", "B"), 1, B=fragile)
    passing = chain("A", "B")
    passing["States"]["A"] = {"Type": "Pass", "Next": "B"}
    with pytest.raises(ExecutionNotRedrivable, match=exactly(f"state 'A': {GONE} is a Pass instead of a Task")):
        on_new(platform, passing)
    inside = mapped("A")
    inside["States"]["M"] |= {"Next": "B"}
    del inside["States"]["M"]["End"]
    inside["States"]["B"] = {"Type": "Task", "Resource": "B", "End": True}
    with pytest.raises(ExecutionNotRedrivable, match=exactly(f"state 'A': {GONE} is inside 'M' instead of None")):
        on_new(platform, inside)


OTHERS_RETRIED = [{"ErrorEquals": ["Other"]}]
"""Retriers of a fan-out that no failure here matches. With them, it commits its results itself."""


def test_a_state_that_commits_with_the_next_one_now_is_refused() -> None:
    said = f"state 'A': {GONE} commits its result with another state, or no longer does"
    old = failed(chain("A", "B"), 1, B=fragile)
    new = deployed(chain("A", "B"), {"A": FunctionOptions(checkpoint=False)})
    new.clock, new.memory, new.store = old.clock, old.memory, old.memory
    with pytest.raises(ExecutionNotRedrivable, match=exactly(said)):
        redrive(new.runtime(), "e", old=old.workflow)


@pytest.mark.parametrize("joins_itself", [False, True], ids=["as before", "joins itself"])
def test_tolerated_failure_of_a_fan_out_is_kept_if_the_same_task_joins_it(*, joins_itself: bool) -> None:
    branch = mapped("A", after="J", ItemsPath="$.items") | {"ProcessorConfig": {"Mode": "DISTRIBUTED"}}
    definition = {
        "StartAt": "Outer",
        "States": {"Outer": {"Type": "Map", "ItemProcessor": branch, "ToleratedFailureCount": 1, "End": True}},
    }
    old = failed(definition, [{}, {"items": [1]}], A=fragile)
    newer = json.loads(json.dumps(definition))
    newer["States"] |= chain("C")["States"]
    newer["States"]["Outer"] |= {"Next": "C"}
    del newer["States"]["Outer"]["End"]
    if joins_itself:
        newer["States"]["Outer"]["ItemProcessor"]["States"]["M"]["Retry"] = OTHERS_RETRIED
        said = f"state 'M': {GONE} commits its result with another state, or no longer does"
        with pytest.raises(ExecutionNotRedrivable, match=exactly(said)):
            on_new(old, newer)
    else:
        assert result(on_new(old, newer)) == [[1]]


def test_branches_stay_of_a_fan_out_that_no_longer_commits_with_its_join() -> None:
    def broken(event: Any) -> Any:
        return fragile(event) if event == 2 else event

    old = failed(mapped("A", "B", after="C"), [1, 2], B=broken)
    new = on_new(old, mapped("A", "B", after="C", Retry=OTHERS_RETRIED))
    assert (old.workflow.passes_name_on("M"), new.workflow.passes_name_on("M")) == (True, False)
    assert (result(new), new.calls) == ([1, 2], {"B": 1, "C": 1})


@pytest.mark.parametrize("waits", [True, False], ids=["meets_previous", "after_previous"])
def test_only_scopes_whose_branches_join_their_neighbours_are_refused(*, waits: bool) -> None:
    meet = g.task("meet").meets_previous() if waits else g.task("meet").after_previous("meet")

    def drawn(*after: str) -> Platform:
        flow: g.Piece = g.map(g.task("encode") >> meet, items=g.out)
        for name in after:
            flow = flow >> g.task(name)
        functions: dict[str, Any] = dict.fromkeys(("encode", "meet", *after), lambda event: event)
        platform = Platform(Source.from_graph(flow).compile("w", None), functions)
        platform.options["timer"] = Later()
        return platform

    old = drawn("x", "last")
    old.functions["last"] = fragile
    old.start("e", [1, 2])
    deliver_all(old)
    new = drawn("x", "between", "last")
    new.clock, new.memory, new.store = old.clock, old.memory, old.memory
    redrive(new.runtime(), "e", old=old.workflow)
    deliver_all(new)
    assert new.calls == {"between": 1, "last": 1}


@pytest.mark.parametrize("waits", [True, False], ids=["meets_previous", "after_previous"])
def test_steps_of_branches_that_join_their_neighbours_are_refused(*, waits: bool) -> None:
    meet = g.task("meet").meets_previous() if waits else g.task("meet").after_previous("meet")
    flow = g.map(g.task("encode") >> meet, items=g.out)
    platform = Platform(Source.from_graph(flow).compile("w", None), {"encode": abs, "meet": abs})
    platform.start("e", [1, 2])
    name = platform.sent[0].name
    platform.deliver(platform.sent[0])
    (item,) = platform.memory.read([checkpoint_key("w", name)]).values()
    joining = platform.workflow
    alone = replace(joining.task("meet"), meets_previous=False, after_previous=None)
    plain = replace(joining, states={**joining.states, "meet": alone})
    for old, new in ((joining, replace(joining)), (joining, plain), (plain, joining)):
        with pytest.raises(ExecutionNotRedrivable, match="is in a scope whose branches join their neighbours"):
            check_steps(old, new, [Checkpoint.from_item(name, item)])
    check_steps(plain, replace(plain), [Checkpoint.from_item(name, item)])


def test_one_that_was_stopped_goes_on_with_the_new_definition() -> None:
    old = deployed(chain("A", "B", "C"))
    old.start("e", 1)
    stop(old.runtime(), start_record(old.memory, "w", "e").name.execution, Failure("Stopped", None))
    deliver_all(old)
    new = on_new(old, with_pass(chain("A", "B", "C"), "A"))
    assert result(new) == 1


def test_a_second_redrive_goes_on_from_the_first() -> None:
    old = failed(chain("A", "B", "C"), 1, B=fragile)
    second = on_new(old, with_pass(chain("A", "B", "C"), "A"), C=fragile)
    ending = second.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    third = on_new(second, chain("A", "B", "X", "C"))
    assert (result(third), third.calls) == (1, {"X": 1, "C": 1})


def test_results_that_were_collected_are_refused() -> None:
    old = compiled(chain("A", "B", "C"), small_results=False, B=fragile)
    old.collection = Collection.EAGER
    old.start("e", 1)
    deliver_all(old)
    with pytest.raises(ExecutionNotRedrivable, match="collect"):
        on_new(old, chain("A", "B", "X", "C"))


def copied_as_they_were(patch: pytest.MonkeyPatch) -> None:
    """Copies keep the version of the old definition."""
    patch.setattr(
        redrive_module,
        "_renamed_all",
        lambda _rt, sequence, frames, count: tuple(redrive_module._renamed(each, frames, count) for each in sequence),
    )


def unchecked(patch: pytest.MonkeyPatch) -> None:
    """Nothing is compared."""
    patch.setattr(redrive_module, "check_steps", lambda *_: None)


@pytest.mark.parametrize("mistake", [copied_as_they_were, unchecked])
def test_a_mistake_is_found(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, InconsistentHistory, KeyError, pytest.fail.Exception)):  # noqa: PT012
        test_results_of_branches_are_kept(("A", "B"), ("A", "X", "B"), {"X": 1, "B": 1, "C": 1}, small_results=False)
        test_what_cannot_continue_is_refused_before_anything_is_written(
            chain("A", "B"), 1, chain("X", "B"), "state 'A': .* does not exist"
        )
