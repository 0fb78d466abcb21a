"""The snippets in ``docs/graph.md`` run, and every workflow in them compiles."""

import re
from pathlib import Path
from typing import Any

from unum_compiler import graph as g
from unum_compiler.definition import Definition

GUIDE = Path(__file__).parents[3] / "docs" / "graph.md"


def test_snippets() -> None:
    names: dict[str, Any] = {}
    for snippet in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        exec(snippet, names)  # noqa: S102 - our own text
    for name in ("flow", "work", "loop", "total", "notify", "convert", "approve", "child"):
        assert Definition.from_graph(names[name]).compile("w", None).states
    assert Definition.from_graph(g.let(all=1) >> names["notice"]).compile("w", None).states


def test_every_word_is_told() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    classes = {"Condition", "DataSet", "Expression", "Flow", "Node", "Piece", "Reference", "Step"}
    assert not [name for name in g.__all__ if name not in classes and not re.search(rf"\b{name}\b", text)]
