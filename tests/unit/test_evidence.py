"""The page of evidence says what the measured results say."""

import json

import pytest

from tests.evidence import PAGE, RESULTS, render
from tests.mutation.operators import MEANING


def test_the_page_is_rendered_from_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(json.loads(RESULTS.read_text(encoding="utf-8")))


def test_a_sample_is_called_a_sample() -> None:
    figures = {"mutants": 100, "tried": 10, "killed": 9, "equivalent": 0, "unexplained": 1, "score": 0.9}
    assert "between 59.6% and 98.2%" in render({"mutation": {**figures, "interval": [0.596, 0.982]}})
    assert (
        "sample" not in render({"mutation": {**figures, "tried": 100, "interval": [0.9, 0.9]}}).partition("## Ass")[0]
    )


def test_page_says_of_which_operators_a_score_is() -> None:
    figures = {"mutants": 100, "tried": 100, "killed": 90, "equivalent": 0, "unexplained": 10, "score": 0.9}
    own = {**figures, "mutants": 200, "interval": [0.85, 0.95], "kinds": {"order": [200, 100, 90]}}
    page = render({"mutation": {**figures, "interval": [0.9, 0.9]}, "further_mutation": own})
    mutmut, further = page.split("## Mutants")[1:]
    assert "100 mutants by the operators of mutmut: " in mutmut
    assert "This score\nis of these operators alone." in mutmut
    assert "make 200 more" in further
    assert f"| order | {MEANING['order']} | 200 | 100 | 90 |" in further
    assert "between 85.0% and 95.0%" in further


@pytest.mark.parametrize("name", ["chaos", "chaos_s3"])
def test_a_chaos_run_says_what_died_and_what_stood_still(name: str) -> None:
    figures = {
        "executions": 1086,
        "kills": {"task": 530, "failure handler": 41},
        "ends": {"SUCCEEDED": 1065, "FAILED": 21},
        "requests": {"stop": 100},
        "nudged": 36,
        "letters": 1,
        "commits": 10204,
        "violations": 0,
        "wrong": 0,
        "still": 2,
        "sweep_every_s": 20,
        "silent_s": 30,
        "took_s": 600,
    }
    page = render({name: figures})
    for row in (
        "that were killed | 571",
        "in a failure handler | 41",
        "stood still | 2",
        "as FAILED, nested ones included | 21",
    ):
        assert f"{row} |" in page


def test_what_was_not_measured_has_no_section() -> None:
    assert "## Mutants" not in render({})
