"""A workflow as a Mermaid flowchart, which GitHub and many editors draw from text in Markdown."""

from collections.abc import Iterator

from unum_cli.picture.nested_graph import END, START, Edge, Graph, inside, top_level
from unum_cli.picture.wording import kind
from unum_runtime.model.ir import Choice, Fail, State, Succeed, Wait, Workflow

_SHAPES: dict[type[State], tuple[str, str]] = {
    Choice: ("{{", "}}"),
    Wait: ("[/", "/]"),
    Succeed: ("([", "])"),
    Fail: ("([", "])"),
}
_BOX = ("[", "]")
_INDENT = "    "


def mermaid(workflow: Workflow) -> str:
    """The flowchart of `workflow`: solid arrows are transitions, dotted ones are taken after an error."""
    return "\n".join(["flowchart TD", *(f"{_INDENT}{line}" for line in _Chart(workflow).lines()), ""])


class _Chart:
    """Knows the identifiers, because Mermaid's are not as free as the names of states."""

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
    """Text in quotes; whatever could be markup is written as an entity."""
    return f'"{"<br/>".join("".join(map(_escaped, line)) for line in lines)}"'


def _escaped(char: str) -> str:
    is_plain = char.isalnum() or char in " .,:;-_+=$()[]/'"
    return char if is_plain else f"#{ord(char)};"
