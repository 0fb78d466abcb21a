"""Mermaid flowcharts, which GitHub and many editors render inside Markdown."""

from collections.abc import Iterator

from unum_cli.picture.nested_graph import END, START, Edge, Graph, inside, top_level
from unum_cli.picture.wording import kind
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Choice, Fail, State, Succeed, Wait

_SHAPES: dict[type[State], tuple[str, str]] = {
    Choice: ("{{", "}}"),
    Wait: ("[/", "/]"),
    Succeed: ("([", "])"),
    Fail: ("([", "])"),
}
_BOX = ("[", "]")
_INDENT = "    "


def mermaid(workflow: Workflow) -> str:
    """Return the flowchart of `workflow`: solid arrows for transitions, dotted ones for catchers."""
    return "\n".join(["flowchart TD", *(f"{_INDENT}{line}" for line in _Chart(workflow).lines()), ""])


class _Chart:
    """Flowchart under construction; maps state names to Mermaid identifiers, which allow fewer characters."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._ids = {name: f"s{index}" for index, name in enumerate(sorted(workflow.states))}

    def lines(self) -> Iterator[str]:
        return self._graph(top_level(self._workflow))

    def _graph(self, graph: Graph) -> Iterator[str]:
        for name in graph.nodes:
            yield from self._node(name)
        for edge in graph.edges:
            yield self._arrow(edge)

    def _node(self, name: str) -> Iterator[str]:
        if name in (START, END):
            yield f"{_MARKERS[name]}(( ))"
            return
        state = self._workflow.states[name]
        graphs = inside(self._workflow, state)
        if not graphs:
            opening, closing = _SHAPES.get(type(state), _BOX)
            yield f"{self._ids[name]}{opening}{_quoted(name, kind(state))}{closing}"
            return
        yield f"subgraph {self._ids[name]}[{_quoted(name, kind(state))}]"
        for index, graph in enumerate(graphs):
            own = f"{self._ids[name]}b{index}"
            yield from _indented([f'subgraph {own}[" "]', *_indented(self._graph(graph)), "end"])
        yield "end"

    def _arrow(self, edge: Edge) -> str:
        arrow = "-.->" if edge.caught else "-->"
        label = f"|{_quoted(edge.label)}|" if edge.label else ""
        return f"{self._id(edge.source)} {arrow}{label} {self._id(edge.target)}"

    def _id(self, name: str) -> str:
        return _MARKERS.get(name) or self._ids[name]


_MARKERS = {START: "start", END: "finish"}


def _indented(lines: "Iterator[str] | list[str]") -> Iterator[str]:
    return (f"{_INDENT}{line}" for line in lines)


def _quoted(*lines: str) -> str:
    """Quote `text`; write possible markup as entities."""
    return f'"{"<br/>".join("".join(map(_escaped, line)) for line in lines)}"'


def _escaped(char: str) -> str:
    is_plain = char.isalnum() or char in " .,:;-_+=$()[]/'"
    return char if is_plain else f"#{ord(char)};"
