"""Pictures: complete, well-formed, the same every time, and nothing over anything else."""

from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_cli.picture.mermaid import mermaid
from unum_cli.picture.nested_graph import END, START, inside, top_level
from unum_cli.picture.placement import Box, Drawing, Link, columns, lay_out, layering
from unum_cli.picture.svg import draw
from unum_cli.picture.wording import rule_text
from unum_client.reading.progress import Progress
from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.model.ir import Workflow

SVG = "{http://www.w3.org/2000/svg}"


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "F", **(fields or {"End": True})}


def workflow(definition: dict[str, Any]) -> Workflow:
    return compile_workflow(definition, name="w", functions=None)


POLLING = workflow(
    machine(
        Poll=task(Next="Ready"),
        Ready={
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.state", "StringEquals": "done", "Next": "Spread"},
                {"Variable": "$.error", "IsPresent": True, "Next": "Broken"},
            ],
            "Default": "Poll",
        },
        Spread={
            "Type": "Map",
            "MaxConcurrency": 4,
            "ItemProcessor": machine(
                Both={"Type": "Parallel", "Branches": [machine(Left=task()), machine(Right=task())], "End": True}
            ),
            "End": True,
        },
        Broken={"Type": "Fail"},
    )
)


def texts(svg: str) -> list[str]:
    return contents(svg, "text")


def contents(svg: str, tag: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314 - our own text
    return [element.text or "" for element in root.iter(f"{SVG}{tag}")]


def boxes(drawing: Drawing, x: float = 0, y: float = 0) -> list[tuple[Box, float, float]]:
    """Every box with its upper left corner in the whole picture."""
    found = []
    for box in drawing.boxes:
        left, top = x + box.corner.x, y + box.corner.y
        found.append((box, left, top))
        for inset in box.inner:
            found += boxes(inset.drawing, left + inset.corner.x, top + inset.corner.y)
    return found


def layout(of: Workflow) -> Drawing:
    return lay_out(of, {name: (name, "detail") for name in of.states})


def test_every_state_is_drawn_once_with_its_kind() -> None:
    shown = texts(draw(POLLING))
    for name in POLLING.states:
        assert shown.count(name) == 1
    assert "Map, 4 at once" in shown
    assert '$.state = "done"' in shown
    assert "$.error is present" in shown
    assert "else" in shown


def test_a_task_shows_its_function_unless_that_has_its_name() -> None:
    definition = machine(F=task(Next="Map"), Map={"Type": "Map", "ItemProcessor": machine(G=task()), "End": True})
    shown = texts(draw(workflow(definition)))
    assert [shown[shown.index(name) + 1] for name in ("F", "Map", "G")] == ["Task", "Map", "F"]


RISKY = workflow(
    machine(
        Rest={"Type": "Wait", "SecondsPath": "$.s", "Next": "Put"},
        Put={
            "Type": "Task",
            "Resource": "arn:aws:states:::dynamodb:putItem",
            "Parameters": {"TableName": "t", "Item": {}},
            "Retry": [{"ErrorEquals": ["A", "B"], "MaxAttempts": 5, "MaxDelaySeconds": 3}],
            "Catch": [{"ErrorEquals": ["C"], "Next": "Mend"}, {"ErrorEquals": ["D"], "Next": "Wide"}],
            "Next": "Wide",
        },
        Mend={"Type": "Pass", "Next": "Wide"},
        Wide={
            "Type": "Map",
            "QueryLanguage": "JSONata",
            "MaxConcurrency": "{% $states.input.m %}",
            "ItemProcessor": {
                **machine(
                    Ask={
                        **task(),
                        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
                        "Arguments": {"FunctionName": "ask", "Payload": "{% $states.context.Task.Token %}"},
                        "QueryLanguage": "JSONata",
                    }
                ),
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            },
            "End": True,
        },
    )
)


def test_every_kind_of_state_says_what_it_does() -> None:
    shown = texts(draw(RISKY))
    details = {name: shown[shown.index(name) + 1] for name in RISKY.states}
    assert details == {
        "Rest": "Wait $.s s",
        "Put": "↻ dynamodb:putItem",
        "Mend": "Pass",
        "Wide": "distributed Map, $states.input.m…",
        "Ask": "ask.waitForTaskToken",
    }


def test_ways_after_an_error_are_drawn_beside_the_others() -> None:
    edges = [edge for edge in top_level(RISKY).edges if edge.source == "Put"]
    assert [(edge.target, edge.label, edge.caught) for edge in edges] == [
        ("Wide", "", False),
        ("Mend", "C", True),
        ("Wide", "D", True),
    ]
    assert draw(RISKY).count('class="wire caught"') == 2


def test_retriers_are_in_the_tooltip() -> None:
    assert "Put\n↻ A, B: up to 5 times, after 1 s, 2 s, 3 s, …" in contents(draw(RISKY), "title")


def test_a_condition_in_jsonata_is_shown_without_its_braces() -> None:
    assert rule_text({"Condition": "{% $states.input.n  > 1 %}", "Assign": {"x": 1}}) == "$states.input.n > 1"


def test_a_flowchart_has_subgraphs_dotted_ways_and_no_markup() -> None:
    lines = [line.strip() for line in mermaid(RISKY).splitlines()]
    number = {name: f"s{index}" for index, name in enumerate(sorted(RISKY.states))}
    assert f'{number["Put"]} -.->|"C"| {number["Mend"]}' in lines
    assert f"{number['Put']} --> {number['Wide']}" in lines
    assert f'subgraph {number["Wide"]}["Wide<br/>distributed Map, $states.input.m at once"]' in lines
    assert "#60;b#62;" in mermaid(workflow(machine(**{"<b>": task()})))


def test_the_order_of_the_table_of_states_does_not_matter() -> None:
    again = Workflow.from_json(POLLING.to_json())
    assert list(again.states) != list(POLLING.states)
    assert draw(again) == draw(POLLING) == draw(POLLING)


def test_names_are_text_and_never_markup() -> None:
    name = "<script>&\"'\x07"
    svg = draw(workflow(machine(**{name: task()})), title="<b>", subtitle="a & b")
    assert "<script>" not in svg
    assert "<script>&\"'\ufffd" in texts(svg)
    assert texts(svg)[:2] == ["<b>", "a & b"]


def test_long_names_are_cut_and_whole_in_the_tooltip() -> None:
    name = "a" * 80
    svg = draw(workflow(machine(**{name: task()})))
    assert f"{'a' * 33}…" in texts(svg)
    assert name in contents(svg, "title")


def test_an_executed_state_shows_how_often_and_how_long() -> None:
    progress = dict.fromkeys(POLLING.states, Progress()) | {
        "Poll": Progress(succeeded=1, duration_ms=1234, slowest_ms=1234),
        "Left": Progress(succeeded=47, failed=2, running=1, duration_ms=999, slowest_ms=80),
    }
    shown = texts(draw(POLLING, progress=progress))
    assert "1.23 s" in shown
    assert "47 done, 2 failed, 1 running · slowest 80 ms"[:33] in "".join(shown)
    assert {"not reached", "running", "succeeded", "failed", "stopped"} <= set(shown)


def test_transitions_that_close_a_cycle_are_told_apart() -> None:
    (upward,) = (wire for wire in layout(POLLING).wires if wire.upward)
    assert (upward.edge.source, upward.edge.target) == ("Ready", "Poll")
    assert upward.points[0].y > upward.points[-1].y


def test_a_state_may_lead_to_itself() -> None:
    again = {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": False, "Next": "Again"}], "Default": "End"}
    drawing = layout(workflow(machine(Again=again, End={"Type": "Succeed"})))
    (loop,) = (wire for wire in drawing.wires if wire.edge.source == wire.edge.target)
    assert loop.label_at is not None
    assert loop.label_at.x < drawing.width


def test_start_and_end_are_marked() -> None:
    graph = top_level(POLLING)
    assert graph.nodes[0] == START
    assert [edge.source for edge in graph.edges if edge.target == END] == ["Spread"]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"Variable": "$.a", "NumericLessThanEquals": 3}, "$.a ≤ 3"),
        ({"Variable": "$.a", "StringGreaterThanPath": "$.b"}, "$.a > $.b"),
        ({"Variable": "$.a", "StringMatches": "x*"}, '$.a like "x*"'),
        ({"Variable": "$.a", "IsNumeric": False}, "$.a is not numeric"),
        ({"Not": {"Variable": "$.a", "BooleanEquals": True}}, "not $.a = true"),
        (
            {
                "And": [
                    {"Variable": "$.a", "IsNull": True},
                    {"Or": [{"Variable": "$.b", "IsString": True}, {"Variable": "$.c", "IsString": True}]},
                ]
            },
            "$.a is null and ($.b is string or $.c is string)",
        ),
    ],
)
def test_rules_in_a_few_words(rule: dict[str, Any], text: str) -> None:
    assert rule_text(rule) == text


@st.composite
def graphs(draw_from: Any) -> tuple[int, list[Link]]:
    """Vertices that can all be reached from vertex 0, and links of which some close cycles."""
    count = draw_from(st.integers(1, 14))
    random_ = draw_from(st.randoms(use_true_random=False))
    ends = {(random_.randrange(vertex), vertex) for vertex in range(1, count)}
    ends |= {(random_.randrange(count), random_.randrange(count)) for _ in range(random_.randrange(2 * count))}
    return count, [Link(a, b, random_.choice((1, 1, 2))) for a, b in sorted(ends) if a != b]


@given(graphs())
def test_layers_go_down_and_nothing_lies_over_anything(graph: tuple[int, list[Link]]) -> None:
    count, links = graph
    result = layering(count, links)
    layer_of = {vertex: row for row, layer in enumerate(result.layers) for vertex in layer}
    assert set(range(count)) <= layer_of.keys()
    assert sum(map(len, result.layers)) == len(layer_of)
    for number, (link, chain) in enumerate(zip(links, result.chains, strict=True)):
        ends = (chain[-1], chain[0]) if number in result.turned else (chain[0], chain[-1])
        assert ends == (link.source, link.target)
        assert [layer_of[lower] - layer_of[upper] for upper, lower in pairwise(chain)] == [1] * (len(chain) - 1)
        assert len(chain) > link.span
    widths = {vertex: 10.0 + vertex for vertex in layer_of}
    centres = columns(result, widths, 5)
    for layer in result.layers:
        for left, right in pairwise(layer):
            assert centres[right] - centres[left] >= (widths[left] + widths[right]) / 2 + 5 - 1e-6


def test_boxes_lie_beside_each_other_or_one_within_the_other() -> None:
    def relation(a: tuple[Box, float, float], b: tuple[Box, float, float]) -> str:
        (one, x, y), (other, left, top) = a, b
        if x + one.width <= left or left + other.width <= x or y + one.height <= top or top + other.height <= y:
            return "apart"
        inside = left >= x and top >= y and left + other.width <= x + one.width and top + other.height <= y + one.height
        return "inside" if inside else "overlapping"

    drawing = layout(POLLING)
    found = boxes(drawing)
    assert len(found) == len(POLLING.states) + 2
    for a, b in combinations(found, 2):
        assert relation(a, b) in {"apart", "inside"}
    assert all(x >= 0 and x + box.width <= drawing.width for box, x, _ in found)


def test_a_region_is_one_graph_with_the_edges_between_its_nodes() -> None:
    nodes = {
        "a": g.task("a"),
        "b": g.task("b"),
        "c": (g.task("c") >> g.task("d")).after("a", "b"),
        "e": g.task("e").after("c"),
    }
    region = Definition.from_graph(g.dag(nodes)).compile("w", None)
    (inner,) = inside(region, region.states["dag"])
    assert {(edge.source, edge.target) for edge in inner.edges} == {("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")}
    drawing = layout(region)
    at = {box.name: y for box, _, y in boxes(drawing)}
    assert at["a"] == at["b"] < at["c"] < at["d"] < at["e"]
    assert mermaid(region).count("-->") == 6


def test_task_that_waits_for_the_previous_branch_has_an_edge_from_it() -> None:
    row = g.task("a") >> g.task("b").after_previous("b") >> g.task("c").after_previous("b") >> g.task("d")
    wave = Definition.from_graph(g.map(row, items=g.out)).compile("w", None)
    (inner,) = inside(wave, wave.states["map"])
    assert [(edge.source, edge.target, edge.label) for edge in inner.edges] == [
        ("a", "b", ""),
        ("b", "c", "own and next branch"),
        ("c", "d", ""),
        ("b", "b", "next branch"),
    ]
    assert layout(wave)
    assert mermaid(wave).count("next branch") == 2


def test_a_long_chain_and_a_wide_choice_are_drawn() -> None:
    names = [f"S{number}" for number in range(400)]
    chain = {name: task(Next=after) for name, after in pairwise(names)} | {names[-1]: task()}
    assert len(boxes(layout(workflow(machine(**chain))))) == 402
    rules = [{"Variable": "$", "NumericEquals": number, "Next": f"T{number}"} for number in range(60)]
    wide = machine(Which={"Type": "Choice", "Choices": rules}, **{f"T{number}": task() for number in range(60)})
    assert len(boxes(layout(workflow(wide)))) == 63


def ran(*, failed: bool = False, followed_by: str | None = None) -> Progress:
    return Progress(succeeded=not failed, failed=failed, followed_by=frozenset({followed_by}))


SKIPPING = workflow(
    machine(
        Try=task(Next="Last", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "Mend"}]),
        Mend=task(Next="Last"),
        Last=task(),
    )
)


@pytest.mark.parametrize(
    ("progress", "taken"),
    [
        ({}, set()),
        ({"Try": Progress(running=1)}, {"Try"}),
        ({"Try": ran(followed_by="Last"), "Last": Progress(running=1)}, {"Try", "Last"}),
        (
            {"Try": ran(failed=True, followed_by="Mend"), "Mend": ran(followed_by="Last"), "Last": ran()},
            {"Try", "Try!Mend", "Mend!Last", END},
        ),
    ],
)
def test_only_transitions_that_happened_are_dark(progress: dict[str, Progress], taken: set[str]) -> None:
    """Not all between states that were reached: after a catcher, the way from the Task itself is pale."""
    seen = {name: progress.get(name, Progress()) for name in SKIPPING.states}
    edges = [edge for edge in top_level(SKIPPING).edges if edge.is_taken(seen)]
    named = {edge.target if edge.source in (START, "Last", "Try") else f"{edge.source}!{edge.target}" for edge in edges}
    assert {f"Try!{name}" if name == "Mend" else name for name in named} == taken
    dark = [line for line in draw(SKIPPING, progress=seen).splitlines() if 'class="wire' in line and "pale" not in line]
    assert len(dark) == len(edges)
