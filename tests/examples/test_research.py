import importlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from examples.research import graphs
from examples.research.applications import ALL, FUNCTIONS, GENOME_BARRIER, Application
from examples.research.inputs import INPUTS, video
from tests.examples.research_cases import APPLICATIONS, CASES, FAILURES, STEP, Case, coded_video, without_traces
from unum_compiler import graph as g
from unum_compiler.compatibility import Compatibility
from unum_compiler.testing import Faults, WorkflowRun, run_workflow
from unum_runtime.errors import DefinitionError

Run = Callable[..., WorkflowRun]


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Application], ModuleType]]:
    """Loads an application's functions as Lambda does: by the module's name, from the folder that is deployed."""
    monkeypatch.syspath_prepend(str(FUNCTIONS))
    loaded = set(sys.modules)
    yield lambda application: importlib.import_module(application.module)
    for name in set(sys.modules) - loaded:
        del sys.modules[name]


@pytest.fixture
def run(functions: Callable[[Application], ModuleType]) -> Run:
    def run_application(name: str, value: Any, **options: Any) -> WorkflowRun:
        application = APPLICATIONS[name]
        module = functions(application)
        handlers = {key: getattr(module, key) for key in application.handlers}
        return run_workflow(application.definition, handlers, value, **options)

    return run_application


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_each_application_returns_what_is_computed_without_it(run: Run, case: Case) -> None:
    assert without_traces(run(case.application, case.value).output) == case.expected


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.id)
def test_an_unfit_input_fails_the_execution(run: Run, case: Case) -> None:
    assert run(case.application, case.value).failure[0] == case.expected


def test_every_application_has_a_case_and_an_example() -> None:
    assert {case.application for case in CASES} == set(APPLICATIONS)
    assert all(json.dumps(application.example) for application in APPLICATIONS.values())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("excamera", video(chunks=4)),
        ("excamera_barrier", video(chunks=4)),
        ("trip_booking", INPUTS["trip_booking"] | {"sold_out": ["flight"]}),
        ("genome", INPUTS["genome"]),
    ],
)
def test_crashes_and_duplicates_do_not_change_results(run: Run, name: str, value: Any) -> None:
    undisturbed = run(name, value).output
    disturbed = run(name, value, faults=Faults(crashes=2, duplicates=2), runs=3)
    assert without_traces(disturbed.output) == without_traces(undisturbed)


def test_the_coded_video_shows_what_was_filmed(run: Run) -> None:
    film = video()
    coded = run("excamera", film).output["coded"]
    state = [0] * len(coded[0])
    frames = [frame for chunk in film["chunks"] for frame in chunk["frames"]]
    for frame, change in zip(frames, coded, strict=True):
        state = [before + by for before, by in zip(state, change, strict=True)]
        assert all(abs(seen - filmed) < 3 * STEP for seen, filmed in zip(state, frame, strict=True))


def test_the_order_of_the_chunks_shows_in_the_result() -> None:
    chunks = video()["chunks"]
    swapped = [chunks[1], chunks[0], *chunks[2:]]
    assert coded_video(chunks)["state"] != coded_video(swapped)["state"]


@pytest.mark.parametrize(
    "wave",
    [
        g.task("reencode").after_previous("decode") >> g.task("rebase").after_previous("decode"),
        g.task("reencode").after_previous("decode") >> g.task("rebase").after_previous("reencode"),
        g.task("reencode").after_previous("rebase") >> g.task("rebase").after_previous("decode"),
    ],
)
def test_a_wavefront_that_waits_for_another_step_codes_another_video(
    run: Run, wave: g.Piece, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk = g.task("encode") >> g.task("decode") >> wave
    monkeypatch.setattr(graphs, "excamera", lambda: g.map(chunk, items=g.out["chunks"]) >> g.task("concatenate"))
    monkeypatch.setitem(APPLICATIONS, "excamera", Application("excamera"))
    assert run("excamera", video()).output != coded_video(video()["chunks"])


def test_with_barriers_the_genome_has_the_same_results(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(APPLICATIONS, "genome_barrier", GENOME_BARRIER)
    by_name = run("genome", INPUTS["genome"]).output
    assert run("genome_barrier", INPUTS["genome"]).output == [by_name["overlap"], by_name["frequency"]]


@pytest.mark.parametrize("application", [*ALL, GENOME_BARRIER], ids=lambda application: application.name)
def test_only_the_wavefront_and_the_region_are_unknown_to_step_functions(application: Application) -> None:
    strict = replace(application.definition, compatibility=Compatibility.STRICT)
    if application.name in ("excamera", "genome"):
        with pytest.raises(DefinitionError, match=r"after_previous|needs"):
            strict.compile(application.name, None)
    else:
        assert strict.compile(application.name, None).states
