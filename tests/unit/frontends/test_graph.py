"""Graphs written in Python: what they mean, told by running them and by the definitions that they stand for."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_compiler.frontends.from_ir import with_extensions
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Ending, Failure, Success
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

Handler = Callable[[Json], Json]


def machine(graph: g.Piece) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Definition.from_graph(graph).text)
    return table


def states(graph: g.Piece) -> dict[str, Any]:
    table: dict[str, Any] = machine(graph)["States"]
    return table


def run(graph: g.Piece, value: Json, **functions: Handler) -> Ending:
    workflow = Definition.from_graph(graph).compile("w", functions.keys())
    handlers = {key: lambda event, _context, handler=handler: handler(event) for key, handler in functions.items()}
    return LocalWorkflow(workflow, handlers).run("e", value)


def output(graph: g.Piece, value: Json, **functions: Handler) -> Json:
    outcome = run(graph, value, **functions).outcome
    assert isinstance(outcome, Success), outcome
    return outcome.value


def same(graph: g.Piece, definition: dict[str, Any]) -> bool:
    ours, theirs = (each.compile("w", None) for each in (Definition.from_graph(graph), Definition.from_asl(definition)))
    return ours.to_json() == theirs.to_json()


def test_one_workflow_in_both_spellings_compiles_to_the_same() -> None:
    resize, index, big, small = (g.task(name) for name in ("resize", "index", "big", "small"))
    pages = g.map(index, items=g.out["pages"], at_once=2, name="each")
    total = g.choose((g.out["total"] > 100, big), default=small, name="dear?")
    definition = {
        "StartAt": "resize",
        "States": {
            "resize": {"Type": "Task", "Resource": "resize", "Next": "each"},
            "each": {
                "Type": "Map",
                "ItemsPath": "$.pages",
                "MaxConcurrency": 2,
                "ItemProcessor": {
                    "StartAt": "index",
                    "States": {"index": {"Type": "Task", "Resource": "index", "End": True}},
                },
                "ResultPath": "$.indexes",
                "Next": "dear?",
            },
            "dear?": {
                "Type": "Choice",
                "Choices": [{"Variable": "$.total", "NumericGreaterThan": 100, "Next": "big"}],
                "Default": "small",
            },
            "big": {"Type": "Task", "Resource": "big", "Next": "end"},
            "small": {"Type": "Task", "Resource": "small", "Next": "end"},
            "end": {"Type": "Succeed"},
        },
    }
    assert same(resize >> pages.into("indexes") >> total >> g.succeed("end"), definition)


def test_nodes_are_used_again_as_states_of_their_own() -> None:
    double = g.task("double")
    flow = double >> double >> double
    assert list(states(flow)) == ["double", "double 2", "double 3"]
    assert output(flow, 1, double=lambda number: number * 2) == 8
    assert output(double, 1, double=lambda number: number * 2) == 2


def test_sequences_nest() -> None:
    one, two, three = (g.task(name) for name in ("one", "two", "three"))
    assert machine((one >> two) >> three) == machine(one >> (two >> three)) == machine(g.seq(one, two, three))


@pytest.mark.parametrize(("total", "expected"), [(101, "big, sent"), (100, "small, sent")])
def test_ways_meet_again(total: int, expected: str) -> None:
    flow = g.choose((g.out["total"] > 100, g.task("big")), default=g.task("small")) >> g.task("send")
    functions: dict[str, Handler] = {"big": lambda _: "big", "small": lambda _: "small"}
    assert output(flow, {"total": total}, **functions, send=lambda text: f"{text}, sent") == expected


@pytest.mark.parametrize(("given", "expected"), [({"n": 1}, "done"), ({"n": 2}, {"n": 2})])
def test_a_way_without_nodes_goes_on(given: Json, expected: Json) -> None:
    flow = g.choose((g.out["n"] == 1, g.task("act")))
    assert output(flow, given, act=lambda _: "done") == expected


def test_a_loop_goes_back_to_a_name() -> None:
    more = g.choose((g.out < 10, g.goto("double")))
    assert output(g.task("double") >> more >> g.task("end"), 1, double=lambda n: n * 2, end=lambda n: [n]) == [16]


def test_a_goto_leads_out_of_no_branch() -> None:
    flow = g.task("a") >> g.map(g.task("b") >> g.goto("a"), items=g.out)
    with pytest.raises(DefinitionError, match="outside this scope"):
        Definition.from_graph(flow).compile("w", None)


def test_map_and_parallel_join() -> None:
    square, add = g.task("square"), g.task("add")
    flow = g.map(square, items=g.out["numbers"], select={"n": g.item, "i": g.index, "all": g.out["numbers"]})
    both = g.parallel(add, add >> add)
    handlers: dict[str, Handler] = {
        "square": lambda item: item["n"] ** 2 + item["i"] + len(item["all"]),
        "add": lambda numbers: sum(numbers) if isinstance(numbers, list) else numbers + 1,
    }
    assert output(flow, {"numbers": [1, 2, 3]}, square=handlers["square"]) == [4, 8, 14]
    assert output(flow >> both, {"numbers": [1, 2, 3]}, **handlers) == [26, 27]


@pytest.mark.parametrize("items", [[], [5], [1, 2, 3]])
def test_fold_takes_one_item_after_the_other(items: list[int]) -> None:
    flow = g.fold(g.task("append"), items=g.out["items"], initial=[0])
    seen = output(flow, {"items": items}, append=lambda event: [*event["accumulated"], event["item"]])
    assert seen == [0, *items]


def test_folds_nest_and_begin_with_what_the_data_say() -> None:
    inner = g.fold(g.task("add"), items=g.out["item"], initial=g.out["accumulated"], name="inner")
    flow = g.fold(inner, items=g.out["rows"], initial=g.out["first"], name="outer") >> g.task("show")
    functions: dict[str, Handler] = {"add": lambda event: event["accumulated"] + event["item"], "show": str}
    assert output(flow, {"rows": [[1, 2], [], [3]], "first": 10}, **functions) == "16"


def test_folds_in_the_branches_of_a_map_do_not_meet() -> None:
    total = g.fold(g.task("add"), items=g.out, initial=0)
    flow = g.map(total, items=g.out) >> g.fold(g.task("add"), items=g.out, initial=0)
    assert output(flow, [[1, 2], [3]], add=lambda event: event["accumulated"] + event["item"]) == 6


def test_results_are_kept_beside_the_input() -> None:
    flow = g.task("price", input=g.out["item"]).into("price") >> g.task("send", input={"text": ["to", g.out["price"]]})
    functions: dict[str, Handler] = {"price": len, "send": lambda event: event["text"]}
    assert output(flow, {"item": "pencil"}, **functions) == ["to", 6]


def test_variables_and_intrinsics() -> None:
    count = g.task("count").assign(count=g.out["n"])
    flow = (
        g.let("names", name="Ann")
        >> count
        >> g.shape({"text": g.call("Format", "{}: {}", g.var("name"), g.var("count"))})
    )
    assert output(flow, {}, count=lambda _: {"n": 3}) == {"text": "Ann: 3"}


def test_context_and_parts() -> None:
    flow = g.shape({"a": {"b": 1}, "never": None}) >> g.task("f", input=g.context["Execution"]["Input"]["x"])
    assert output(flow, {"x": 7}, f=lambda event: event) == 7


def test_retries_and_handlers() -> None:
    attempts: list[int] = []

    def flaky(_event: Json) -> Json:
        attempts.append(1)
        raise ValueError("no")

    handled = g.task("report") >> g.task("note")
    work = g.task("work").retry("ValueError", attempts=2, interval_s=5, max_delay_s=9, jitter=True)
    flow = work.catch("States.Timeout").catch(then=handled, into="error") >> g.task("send")
    functions: dict[str, Handler] = {
        "work": flaky,
        "report": lambda event: event["error"]["Error"],
        "note": lambda error: f"noted {error}",
        "send": lambda text: f"{text}, sent",
    }
    assert output(flow, {"n": 1}, **functions) == "noted ValueError, sent"
    assert len(attempts) == 3


def test_an_error_can_take_the_place_of_the_output() -> None:
    assert output(g.task("work").catch("ValueError"), {}, work=fails)["Error"] == "ValueError"


def test_fields_of_time() -> None:
    task = g.task("f", timeout_s=30, heartbeat_s=g.out["beat"])
    moment = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1)))
    flow = task >> g.wait(5) >> g.wait(g.out["s"]) >> g.wait(until=moment) >> g.wait(until=g.out["at"])
    assert list(states(flow).values()) == [
        {"Type": "Task", "Resource": "f", "TimeoutSeconds": 30, "HeartbeatSecondsPath": "$.beat", "Next": "wait"},
        {"Type": "Wait", "Seconds": 5, "Next": "wait 2"},
        {"Type": "Wait", "SecondsPath": "$.s", "Next": "wait 3"},
        {"Type": "Wait", "Timestamp": "2030-01-02T02:04:05Z", "Next": "wait 4"},
        {"Type": "Wait", "TimestampPath": "$.at", "End": True},
    ]


def test_endings() -> None:
    flow = g.choose((g.out == 1, g.fail("Odd", "because")), (g.out == 2, g.fail(g.context["State"]["Name"])))
    assert run(flow, 1).outcome == Failure("Odd", "because")
    assert run(flow, 2).outcome == Failure("fail 2", None)
    assert output(flow >> g.shape({"n": g.out}), 3) == {"n": 3}


def test_some_branches_are_enough() -> None:
    def half(number: Json) -> Json:
        return number if number % 2 else fails(number)

    flow = g.map(g.task("half"), items=g.out).quorum(2)
    assert sorted(output(flow, [1, 2, 3, 4], half=half)) == [1, 3]
    assert len(output(flow >> g.task("show"), [1, 3, 5], half=half, show=lambda each: each)) == 2
    outcome = run(flow, [1, 2, 4], half=half).outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "ValueError"


def test_the_first_of_branches_without_tasks() -> None:
    flow = g.parallel(g.fail("E"), g.parallel(g.shape({"n": g.out}))).quorum(1)
    assert output(flow, 7) == [[{"n": 7}]]
    assert output(g.parallel(flow, flow), 7) == [[[{"n": 7}]], [[{"n": 7}]]]


def test_neighbouring_branches_meet() -> None:
    meet = g.task("meet").meets_previous()
    flow = g.map(g.task("encode") >> g.shape(g.out["x"]) >> meet, items=g.out)
    seen = output(flow, [1, 2, 3], encode=lambda n: {"x": n * 10}, meet=lambda both: both)
    assert seen == [[None, 10], [10, 20], [20, 30]]


@pytest.mark.parametrize(
    ("flow", "place", "message"),
    [
        (g.task("a").meets_previous(), "$.states.a.meets_previous", "top level"),
        (g.map(g.task("a").meets_previous(), items=g.out), "$.states.a.meets_previous", "got the start of the branch"),
        (
            g.map(g.choose((g.out == 1, g.task("b"))) >> g.task("a").meets_previous(), items=g.out),
            "$.states.a.meets_previous",
            'got "choose"',
        ),
        (
            g.parallel(g.task("b") >> g.task("a").meets_previous(), g.task("c")),
            "$.states.a.meets_previous",
            "each branch of a Parallel has its own",
        ),
        (
            g.map(g.task("b") >> g.task("a").meets_previous(), items=g.out).quorum(1),
            "$.states.a.meets_previous",
            'got "map": the branch after a failed one',
        ),
        (
            g.map(g.task("b").catch(then=g.task("c")) >> g.task("a").meets_previous(), items=g.out),
            "$.states.a.meets_previous",
            '"b" may lead elsewhere',
        ),
        (
            g.map(g.choose((g.out == 1, g.task("b"))) >> g.task("c") >> g.task("a").meets_previous(), items=g.out),
            "$.states.a.meets_previous",
            '"choose" may lead elsewhere',
        ),
        (g.parallel(g.task("a")).quorum(2), "$.states.parallel.quorum", "a quorum of 1 to 1 "),
        (g.map(g.task("a"), items=g.out).quorum(0), "$.states.map.quorum", "a quorum of 1 to 256 "),
    ],
)
def test_extensions_that_cannot_be_had_are_refused(flow: g.Piece, place: str, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Definition.from_graph(flow).compile("w", None)
    assert [problem.path for problem in caught.value.problems] == [place]
    assert message in str(caught.value)


def test_a_task_gets_a_result_of_the_branch_before() -> None:
    rebase = g.task("rebase").after_previous("rebase")
    flow = g.map(g.task("encode") >> g.shape(g.out["x"]) >> rebase, items=g.out)
    seen = output(
        flow,
        [1, 2, 3],
        encode=lambda n: {"x": n * 10},
        rebase=lambda both: both["own"] + (both["previous"] or 0),
    )
    assert seen == [10, 30, 60]


def test_the_step_of_the_same_map_is_meant_whatever_its_number() -> None:
    row = g.task("encode") >> g.task("rebase").after_previous("encode")
    flow = g.task("encode") >> g.map(row, items=g.out)
    compiled = Definition.from_graph(flow).compile("w", None)
    assert compiled.task("rebase").after_previous == "encode 2"


def test_after_previous_takes_a_name() -> None:
    wrong: Any = g.task("encode")
    with pytest.raises(TypeError, match="'rebase': after_previous: expected the name of a task"):
        g.task("rebase").after_previous(wrong)


_ROW = g.task("a") >> g.task("b").after_previous("b")


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (g.task("a") >> g.task("b").after_previous("a"), "at the top level there is no other branch"),
        (g.parallel(_ROW), "the branches of a Parallel have no order"),
        (
            g.map(g.dag({"a": g.task("c"), "e": _ROW.after("a")}), items=g.out),
            'got one in node "e" of "dag": no node waits',
        ),
        (
            g.map(g.dag({"e": g.task("c")}) >> g.task("a") >> g.task("b").after_previous("c"), items=g.out),
            'expected a Task in the branches of "map", got "c", a Task in "dag"',
        ),
        (g.map(_ROW, items=g.out).quorum(1), 'got "map": the branch after a failed one would wait forever'),
        (g.map(_ROW >> g.task("c").meets_previous(), items=g.out), 'no neighbour join beside it in "map"'),
        (g.map(g.task("b").after_previous("b"), items=g.out), "got the start of the branch; put a Task between"),
        (g.map(g.task("a") >> g.task("b").after_previous("x"), items=g.out), 'there is no state "x"'),
        (
            g.task("c") >> g.map(g.task("a") >> g.task("b").after_previous("c"), items=g.out),
            'got "c", a Task in the top',
        ),
        (
            g.map(
                g.task("a") >> g.map(g.task("c"), items=g.out) >> g.task("d") >> g.task("b").after_previous("c"),
                items=g.out,
            ),
            'expected a Task in the branches of "map", got "c", a Task in "map 2"',
        ),
        (
            g.map(g.choose((g.out == 1, g.task("c"))) >> g.task("a") >> g.task("b").after_previous("c"), items=g.out),
            'a branch can end after "b" without "c"',
        ),
        (
            g.map(g.task("a").catch(then=g.task("c")) >> g.task("b").after_previous("c"), items=g.out),
            'a branch can end after "b" without "c"',
        ),
        (
            g.map(
                g.task("a") >> g.choose((g.out == 1, g.succeed())) >> g.task("d") >> g.task("b").after_previous("d"),
                items=g.out,
            ),
            'without "d": the branch after it would wait forever',
        ),
        (
            g.map(g.task("a") >> g.task("b").after_previous("a") >> g.choose((g.out == 1, g.goto("a"))), items=g.out),
            'a branch runs "b" once, but a loop leads back to it',
        ),
        (
            g.map(
                g.task("c") >> g.choose((g.out == 1, g.goto("c"))) >> g.task("a") >> g.task("b").after_previous("c"),
                items=g.out,
            ),
            'a branch runs once, but a loop leads back to "c"',
        ),
    ],
)
def test_what_could_wait_forever_or_begin_twice_is_refused(flow: g.Piece, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Definition.from_graph(flow).compile("w", None)
    assert [problem.path.rpartition(".")[2] for problem in caught.value.problems][:1] == ["after_previous"]
    assert message in str(caught.value)


def test_a_task_of_a_loop_meets_nobody() -> None:
    again = {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "Before"}], "Default": "Done"}
    states = {
        "Before": {"Type": "Task", "Resource": "F", "Next": "Meet"},
        "Meet": {"Type": "Task", "Resource": "F", "Next": "Again"},
        "Again": again,
        "Done": {"Type": "Succeed"},
    }
    each = {"Type": "Map", "ItemProcessor": {"StartAt": "Before", "States": states}, "End": True}
    compiled = compile_workflow({"StartAt": "Each", "States": {"Each": each}}, name="w", functions={"F"})
    with pytest.raises(DefinitionError, match="a loop leads back to it"):
        with_extensions(compiled, {"Meet": {"meets_previous": True}})


def test_nodes_of_a_dag_run_once_their_sources_have_ended() -> None:
    flow = g.dag(
        {
            "F": g.task("both").after("D", "E"),
            "A": g.task("a"),
            "B": (g.task("b") >> g.shape({"n": g.out})).after("A"),
            "C": g.task("c").after("A"),
            "D": g.task("both").after("B", "C"),
            "E": g.task("c").after("C"),
        }
    )
    names: dict[str, Handler] = {
        "a": str,
        "b": lambda found: found["A"] + "b",
        "c": "c".join,
        "both": lambda each: each,
    }
    assert output(flow, 1, **names) == {"F": {"D": {"B": {"n": "1b"}, "C": "A"}, "E": "C"}}


def test_a_dag_is_refused_in_strict_mode_by_the_name_of_its_edges() -> None:
    flow = g.dag({"A": g.task("a"), "B": g.task("b").after("A")})
    with pytest.raises(
        DefinitionError, match=r"\$\.states\.dag\.needs: .*in Step Functions; nest Parallel states instead"
    ):
        replace(Definition.from_graph(flow), compatibility=Compatibility.STRICT).compile("w", None)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({}, "'dag': expected at least one node, got none"),
        ({"A": g.task("a").after("B")}, "'dag': node 'A' waits for 'B', which does not exist among ['A']"),
        (
            {"A": g.task("a"), "B": g.task("b").after("C"), "C": g.task("c").after("B", "A")},
            "'dag': nodes ['B', 'C'] wait for each other, and would never begin; remove an edge",
        ),
    ],
)
def test_a_dag_that_cannot_run_is_refused(graph: dict[str, g.Piece], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        g.dag(graph)


def test_after_stands_in_a_dag_alone() -> None:
    node = g.task("a").after("b")
    said = re.escape("after('b'): expected as a value of dag({...}), not elsewhere")
    for use in (lambda: g.task("c") >> node, lambda: node >> g.task("c"), lambda: g.parallel(node)):
        with pytest.raises(TypeError, match=said):
            Definition.from_graph(use())
    with pytest.raises(TypeError, match="expected the name of a node"):
        g.task("a").after(g.task("b"))  # type: ignore[arg-type]


def fails(_event: Json) -> Json:
    raise ValueError("no")


def test_functions_are_constructs_or_keys() -> None:
    resize = construct("Stack", "Images", "Resize")
    other = construct("Stack", "Other", "Resize")
    flow = g.task("a", resize) >> g.task("b", "Resize") >> g.map(g.task("c", other), items=g.out) >> g.task("d", resize)
    definition = Definition.from_graph(flow)
    assert definition.functions == {"Images-Resize": resize, "Other-Resize": other}
    functions = {task.name: task.function for task in definition.compile("w", None).tasks}
    assert functions == {"a": "Images-Resize", "b": "Resize", "c": "Other-Resize", "d": "Images-Resize"}


def construct(*ids: str) -> Any:
    """Return the parts of a construct that make its key."""
    return _Construct("/".join(ids))


class _Construct:
    def __init__(self, path: str) -> None:
        self.node = SimpleNamespace(path=path)
