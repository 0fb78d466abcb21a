"""Every real definition that compiles can be drawn, with all of its states."""

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.golden.recordings import cases, needed
from unum_cli.picture.mermaid import mermaid
from unum_cli.picture.svg import draw
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow

TITLE = "{http://www.w3.org/2000/svg}title"

pytestmark = needed


@pytest.fixture(scope="module")
def workflows() -> list[Workflow]:
    found = []
    for case in cases("corpus.jsonl"):
        try:
            found.append(compiled(case["definition"]))
        except DefinitionError:
            continue  # which are refused, and why, is another test's
    return found


def compiled(definition: Any) -> Workflow:
    return Definition.from_asl(definition).compile("drawn", None)


def test_pictures_have_every_state(workflows: list[Workflow]) -> None:
    assert workflows
    for workflow in workflows:
        picture = ET.fromstring(draw(workflow))  # noqa: S314 - our own text
        titles = [(title.text or "").partition("\n")[0] for title in picture.iter(TITLE)]
        assert titles.count("drawn") == 1
        assert set(workflow.states) <= set(titles)


def test_flowcharts_have_every_state_and_close_what_they_open(workflows: list[Workflow]) -> None:
    for workflow in workflows:
        text = mermaid(workflow)
        assert set(re.findall(r"\bs\d+\b(?=[\[({])", text)) == {f"s{index}" for index in range(len(workflow.states))}
        lines = [line.strip() for line in text.splitlines()]
        assert sum(line.startswith("subgraph ") for line in lines) == lines.count("end")
