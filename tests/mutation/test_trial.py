"""Trial of mutants: choice, injection and counting."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mutation import __main__ as command
from tests.mutation import report, score
from tests.mutation.mutants import PYTHON, ROOT, Mutant, all_mutants, module_of, mutants_of, mutated_paths, sample
from tests.mutation.operators import MUTMUT
from tests.mutation.reach import TESTS, VALUES, Reach, existing
from tests.mutation.results import Results, _functions
from tests.mutation.score import EQUIVALENT, KINDS, Explanation, Score, explanations, needless
from tests.mutation.trial import PLANTED, Verdict, _processor

STORE = PYTHON / "unum_simulator" / "memory_store.py"
COMPARISON = "_check_size: if size>[ → =]MAX_ITEM_BYTES:"
"""A mutant that no test kills, for no item has just that size; the tests below replace its text by others."""

PROGRAM = """
import json, sys
from dataclasses import replace
import pytest
from tests.mutation import trial
from tests.mutation.test_trial import mutant
trial.TEST_CPU_S = 3
verdicts = []
mutants = [replace(mutant(part), **change) for part, change in json.loads(sys.argv[1])]
plugin = trial.Trial(mutants, lambda _, items: [*items], lambda _, verdict: verdicts.append(verdict.fate))
pytest.main([*trial.PYTEST, *sys.argv[2:]], plugins=[plugin])
print(json.dumps(verdicts))
"""


def mutant(part: str) -> Mutant:
    """Return the only mutant of the memory store whose name ends like this."""
    (found,) = [each for each in mutants_of(STORE) if each.name.endswith(part)]
    return found


CONTRACT = ("-k", "memory", "tests/contract/test_store.py")


def fates(*changes: tuple[str, dict[str, Any]], tests: Sequence[str] = CONTRACT) -> list[str]:
    """Try mutants, with other fields, against tests, in a process of their own."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(changes), *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return [*json.loads(done.stdout.splitlines()[-1])]


def test_each_mutated_module_with_code_has_mutants() -> None:
    modules = {module_of(path) for path in mutated_paths()}
    without_code = {module for module in modules if module.endswith("__init__.py")} | {"store/erasable.py"}
    assert {mutant.module for mutant in all_mutants()} == modules - without_code


def test_names_of_mutants_are_unique() -> None:
    assert len({mutant.name for mutant in all_mutants()}) == len(all_mutants())


def test_a_sample_keeps_its_mutants_when_others_come_and_go() -> None:
    everything = all_mutants()
    before = sample(everything, 100, "seed")
    after = sample(tuple(mutant for mutant in everything if mutant not in before[::2]), 50, "seed")
    assert after[:50] == before[1::2]


def test_the_operators_of_the_tool_are_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "def f(a: int = 1) -> bool:\n    x = read(a, consistent=True)\n    return x and not len(a) < 2\n"
    (tmp_path / "module.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr("tests.mutation.mutants.RUNTIME", tmp_path)
    found = [(mutant.scope, mutant.change) for mutant in mutants_of(tmp_path / "module.py") if mutant.kind == MUTMUT]
    assert found == [
        ("", "def f(a: int =[1 → 2]) -> bool:"),
        ("f", "x =[read(a, consistent=True) → None]"),
        ("f", "x = read([a → None], consistent=True)"),
        ("f", "x = read(a, consistent=[True → None])"),
        ("f", "x = read([a, → ]consistent=True)"),
        ("f", "x = read(a[, consistent=True → ])"),
        ("f", "x = read(a, consistent=[True → False])"),
        ("f", "return x[and → or]not len(a) < 2"),
        ("f", "return x and[not → ]len(a) < 2"),
        ("f", "return x and not len(a)<[ → =]2"),
        ("f", "return x and not len(a) <[2 → 3]"),
    ]


def test_a_mutant_is_tried_in_functions_and_with_new_imports() -> None:
    harmless, fatal = {"text": "> MAX_ITEM_BYTES"}, {"text": "!= MAX_ITEM_BYTES"}
    anew = {"scope": ""}  # as if it were at module level
    assert fates(
        (COMPARISON, harmless),
        (COMPARISON, harmless | anew),
        (COMPARISON, fatal),
        (COMPARISON, fatal | anew),
        (COMPARISON, {"text": "= = 1"}),
        (COMPARISON, {"text": " and [... for _ in iter(int, 1)] > []"}),
    ) == ["survived", "survived", "killed", "killed", "invalid", "endless"]


def test_new_imports_alone_kill_nothing() -> None:
    unchanged = {"text": "> MAX_ITEM_BYTES", "scope": ""}
    through_the_compiler = ("tests/unit/protocol/planning/test_quotas.py", "tests/unit/protocol/fanout")
    assert fates((COMPARISON, unchanged), tests=through_the_compiler) == ["survived"]


def verdicts(**fates: str) -> list[Verdict]:
    return [Verdict(name, fate) for name, fate in fates.items()]


EXPLAINED: Mapping[str, Explanation] = {
    "same": Explanation(EQUIVALENT, "no difference"),
    "log": Explanation("accepted", "a text for people"),
}


def test_the_score_leaves_out_what_is_equivalent_or_no_python() -> None:
    found = score.score(verdicts(a="killed", b="endless", same="survived", log="unreached", c="invalid"), EXPLAINED)
    assert found == Score(tried=4, killed=2, equivalent=1, accepted=1)
    assert found.share == 2 / 3


def test_an_open_survivor_is_known_and_counts_against_the_score() -> None:
    found = score.score(verdicts(a="killed", log="survived"), {"log": Explanation(score.OPEN, "owed")})
    assert found == Score(tried=2, killed=1, equivalent=0, accepted=0, open=1)
    assert found.share == 1 / 2
    assert needless(verdicts(log="killed"), {"log": Explanation(score.OPEN, "owed")}, []) == []


@pytest.mark.parametrize(("kind", "code"), [(None, 1), ("open", 0), ("accepted", 0)])
def test_a_survivor_that_is_not_explained_fails_any_trial(
    kind: str | None, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [each.name for each in all_mutants()[:20]]
    explained = {} if kind is None else {names[0]: Explanation(kind, "why")}
    monkeypatch.setattr(report, "OUT", tmp_path)
    monkeypatch.setattr(report, "explanations", lambda _: explained)
    found = [Verdict(names[0], "survived"), *(Verdict(name, "killed") for name in names[1:])]
    assert report.report(found, all_mutants()) == code


def test_scores_of_mutmut_and_of_further_operators_are_written_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "OUT", tmp_path)
    of_mutmut, *others = (
        next(each for each in all_mutants() if each.kind == kind) for kind in (MUTMUT, "order", "look")
    )
    report.report([Verdict(of_mutmut.name, "killed")], all_mutants())
    assert [path.name for path in tmp_path.iterdir()] == [report.SCORE], "what was not tried keeps its score"
    report.report([Verdict(others[0].name, "survived"), Verdict(others[1].name, "killed")], all_mutants())
    first, second = (json.loads((tmp_path / name).read_text()) for name in (report.SCORE, report.FURTHER_SCORE))
    assert (first["tried"], first["killed"], second["tried"], second["killed"]) == (1, 1, 2, 1)
    assert first["mutants"] + second["mutants"] == len(all_mutants())
    assert {kind: figures[1:] for kind, figures in second["kinds"].items() if figures[1]} == {
        "order": [1, 0],
        "look": [1, 1],
    }
    assert sum(number for number, *_ in second["kinds"].values()) == second["mutants"]


def test_an_interval_gets_narrow_with_the_sample_and_is_a_point_at_the_end() -> None:
    few, many = Score(60, 54, 0, 0), Score(6000, 5400, 0, 0)
    assert few.interval(9000)[0] < many.interval(9000)[0] < 0.9 < many.interval(9000)[1] < few.interval(9000)[1]
    assert many.interval(6000) == (0.9, 0.9)


def test_an_explanation_of_what_is_killed_or_gone_is_needless() -> None:
    assert needless(verdicts(same="killed", log="survived"), EXPLAINED, ["same", "log"]) == ["same"]
    assert needless(verdicts(same="survived"), EXPLAINED, ["same"]) == ["log"]


def test_explanations_are_of_mutants_that_exist_and_say_why() -> None:
    names = [mutant.name for mutant in all_mutants()]
    found = explanations(names)
    assert needless([], found, names) == []
    assert all(each.kind in KINDS and each.why for each in found.values())


def test_a_rule_explains_all_that_it_matches_and_is_needless_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "waiting.toml").write_text(
        '[[rules]]\nkind = "equivalent"\nwhy = "a flag"\nmatches = "is_[a-z]+=\\\\[False"\n', encoding="utf-8"
    )
    monkeypatch.setattr(score, "EXPLAINED", tmp_path)
    names = ["m f: g(is_new=[False → None])", "m f: g(is_new=[True → None])"]
    assert explanations(names) == {names[0]: Explanation(EQUIVALENT, "a flag")}
    assert needless([], explanations(names), names) == []
    assert len(needless([], explanations([]), [])) == 1


def test_tests_of_values_reach_each_module_and_no_function() -> None:
    measured = {"tests": ["tests/unit/protocol/test_constants.py::t"], "seconds": [0.0], "blocks": {}}
    reach = Reach.of(measured, 1)
    value = next(each for each in all_mutants() if not each.scope)
    assert reach.choose(value, {"tests/unit/protocol/test_constants.py::t": None}) == measured["tests"]
    assert VALUES in measured["tests"][0]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "results.jsonl")


def test_a_result_is_kept_over_sessions(results: Results) -> None:
    tests = ["tests/contract/test_store.py::a", "tests/unit/store/test_memory.py::b"]
    tried = mutant(COMPARISON)
    assert results.known(tried, tests) is None
    results.add(tried, Verdict(tried.name, "survived", tests=2), tests)
    assert Results(results.path).known(tried, tests) == Verdict(tried.name, "survived", tests=2)
    assert Results(results.path).known(tried, tests[:1]) is None
    assert Results(results.path).known(tried, tests[:1], of_same_code=True) == Verdict(tried.name, "survived", tests=2)


def test_the_last_result_counts_and_its_killer_is_tried_first(results: Results) -> None:
    tried, killer = mutant(COMPARISON), "tests/unit/store/test_memory.py::b"
    for fate, by in (("survived", ""), ("killed", killer)):
        results.add(tried, Verdict(tried.name, fate, by), [])
    again = Results(results.path)
    assert again.known(tried, ["tests/contract/test_store.py::a"]) == Verdict(tried.name, "killed", killer)
    assert again.killer(tried) == killer
    assert again.killer(replace(tried, change="another")) == ""


def test_a_result_of_other_code_is_not_known(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = mutant(COMPARISON)
    results.add(tried, Verdict(tried.name, "endless"), [])
    assert results.known(tried, []) is not None
    assert results.known(replace(tried, text="size >= 2"), []) is None
    texts = {key: text + "\n" for key, text in _functions(tried.module).items()}
    assert (tried.scope, tried.line) in texts
    monkeypatch.setattr("tests.mutation.results._functions", lambda _module: texts)
    assert results.known(tried, []) is None
    assert results.known(tried, [], of_same_code=True) is None


def test_words_are_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = 'def f() -> int:\n    """Return one."""\n    return 1\n\n\ndef g() -> None:\n    """Wait."""\n'
    after = (
        before.replace("Return one", "Return 1").replace("Wait", "Do nothing").replace("return 1", "return 1  # one")
    )
    assert after.count("\n") == before.count("\n")
    monkeypatch.setattr("tests.mutation.mutants.RUNTIME", tmp_path)
    for name, text in {"before": before, "after": after, "other": after.replace("return 1", "return 2")}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert _functions("before") == _functions("after") != _functions("other")


@pytest.mark.parametrize("fate", ["survived", "unreached", "killed", "endless"])
def test_survivors_are_tried_again_whether_a_test_reached_them_or_not(
    fate: str, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, given = mutant(COMPARISON), ["--survivors", "--same-code"]
    results.add(tried, Verdict(tried.name, fate), [])
    monkeypatch.setattr(command, "OUT", results.path.parent)
    monkeypatch.setattr("pytest.main", lambda *_arguments, **_named: None)
    monkeypatch.setattr("os.fdopen", lambda *_given: sys.stdout)
    known = command._try([tried], Reach({}, {tried.module: []}), command._parser().parse_args(given))
    assert [each.fate for each in known] == ([fate] if fate in ("killed", "endless") else [])


def test_a_copy_that_gets_no_processor_does_not_wait() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as waiting:
        while not _processor(waiting.pid)[1]:
            pass
        assert _processor(waiting.pid)[0] >= 0
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as working:
        while _processor(working.pid)[0] == 0:
            pass
        assert not _processor(working.pid)[1]
        working.kill()


UNSTEADY = """
import time
from pathlib import Path

LOG = Path(__file__).with_name("log")


def test_that_fails_once() -> None:
    PAUSE
    is_new = not LOG.exists()
    LOG.open("a").write("run ")
    assert not is_new


def test_another() -> None:
    assert FACT
"""


@pytest.mark.parametrize(
    ("pause", "fact", "fate", "runs"),
    [
        ("time.sleep(0.01)", "1 + 1 == 2", "survived", 2),
        ("time.sleep(0.01)", "1 + 1 == 3", "killed", 2),
        ("pass", "1 + 1 == 2", "killed", 1),
    ],
)
def test_only_a_test_that_fails_twice_kills_if_it_waits(
    pause: str, fact: str, fate: str, runs: int, tmp_path: Path
) -> None:
    file = tmp_path / "test_unsteady.py"
    file.write_text(UNSTEADY.replace("PAUSE", "\n    ".join([pause] * 10)).replace("FACT", fact), encoding="utf-8")
    assert fates((COMPARISON, {"text": "> MAX_ITEM_BYTES"}), tests=[str(file)]) == [fate]
    assert (tmp_path / "log").read_text(encoding="utf-8").split() == ["run"] * runs


def test_tests_of_planted_mistakes_exist() -> None:
    files = [path for folder in existing(TESTS) for path in (ROOT / folder).rglob("test_*.py")]
    names = "\n".join(re.findall(r"def (test_\w+)", "\n".join(path.read_text(encoding="utf-8") for path in files)))
    assert [part for part in PLANTED if part not in names] == []
