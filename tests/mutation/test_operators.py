"""Operators beside mutmut's, each with all its mutants of a line."""

from pathlib import Path

import pytest

from tests.mutation.mutants import all_mutants, mutants_of, of_kind
from tests.mutation.operators import FURTHER, MEANING, MUTMUT, OPERATORS

HEAD = "def f(a, b, c):\n    "


def changes(code: str, kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the changed bytes of each mutant of one kind of `code`, with what replaces them."""
    path = folder / "module.py"
    path.write_text(code, encoding="utf-8")
    monkeypatch.setattr("tests.mutation.mutants.RUNTIME", folder)
    found = [each for each in mutants_of(path) if each.kind == kind]
    assert all(each.code() is not None for each in found)
    return [f"{code.encode()[each.start : each.end].decode()} -> {each.text}" for each in found]


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        ("condition", "if a: b()", ["a -> (a) and False", "a -> (a) or True"]),
        ("condition", "if (x := a): b()", ["x := a -> ((x := a)) and False", "x := a -> ((x := a)) or True"]),
        ("condition", "while a or b: c()", ["a or b -> (a or b) and False"]),
        ("condition", "return [x for x in a if x > b]", ["x > b -> (x > b) or True"]),
        ("condition", "if TYPE_CHECKING: b()", []),
        ("operand", "return a or b", ["a or b -> b", "a or b -> a"]),
        ("operand", "return a and b and c", ["a and b and c -> a and b", "a and b -> b", "a and b -> a"]),
        (
            "operand",
            "return (a or b) and c",
            ["(a or b) and c -> c", "(a or b) and c -> (a or b)", "a or b -> b", "a or b -> a"],
        ),
        ("operand", "return 1 <= a <= b", ["1 <= a <= b -> a <= b", "1 <= a <= b -> 1 <= a"]),
        ("operand", "return a < b", []),
        ("order", "return sorted(a, key=b)", ["sorted(a, key=b) -> [*(a)]"]),
        ("order", "return sorted(x for x in a)[:b]", ["sorted(x for x in a) -> [*(x for x in a)]"]),
        ("order", "return reversed(a)", ["reversed(a) -> [*(a)]"]),
        ("order", "return next(x for x in a if b)", ["a -> [*a][::-1]"]),
        ("order", "return next(x for x in reversed(a))", ["reversed(a) -> [*(a)]"]),
        ("order", "return a[::-1], a[::2]", ["-1 -> 1"]),
        ("statement", "a.sort(key=b)\n    return a", ["a.sort(key=b) -> pass"]),
        ("aggregate", "return sum(x for x in a)", ["sum(x for x in a) -> max((x for x in a), default=0)"]),
        ("aggregate", "return max(a)", ["max -> min", "max(a) -> sum((a))"]),
        ("aggregate", "return max(a, b)", ["max -> min", "max(a, b) -> sum([a, b])"]),
        ("aggregate", "return max(*a)", ["max -> min", "max(*a) -> sum([*a])"]),
        ("aggregate", "return max(a, default=0)", ["max -> min"]),
        ("aggregate", "return min(a, b)", ["min -> max"]),
        ("aggregate", "return any(a) or all(b)", ["any -> all", "all -> any"]),
        ("look", "if (found := read(a)) is not None: b()", ["read(a) -> None"]),
        ("statement", "check(a)\n    return b", ["check(a) -> pass"]),
        ("statement", "return a", []),
        ("statement", "if a:\n        raise b\n    return c", []),
        ("statement", "if a:\n        raise b\n    else:\n        return c", ["raise b -> pass", "return c -> pass"]),
        (
            "statement",
            "for x in a:\n        if b:\n            b()\n            continue",
            ["b() -> pass", "continue -> pass"],
        ),
        ("statement", "try:\n        a()\n    except b:\n        return c", ["a() -> pass", "return c -> pass"]),
        ("statement", "with a:\n        yield b", ["yield b -> pass"]),
        ("statement", "match a:\n        case b:\n            return c", ["return c -> pass"]),
        ("statement", "del a[b]\n    return c", ["del a[b] -> pass"]),
        ("element", "return [a, *b]", ["[a, *b] -> [*b]", "[a, *b] -> [a]"]),
        ("element", "return a, b", ["a, b -> (b,)", "a, b -> (a,)"]),
        ("element", "return {a}", ["{a} -> set()"]),
        ("element", "x, y = a\n    for x, y in b: c(Kind[a, b])\n    return {x for x, y in c}", []),
    ],
)
def test_an_operator_makes_its_changes_alone(
    kind: str, line: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changes(f"{HEAD}{line}\n", kind, tmp_path, monkeypatch) == expected


def test_guard_of_a_case_is_always_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "match a:\n    case b if c:\n        d()\n    case _:\n        e()\n"
    assert changes(code, "condition", tmp_path, monkeypatch) == ["c -> (c) or True"]


def test_every_kind_has_a_meaning_and_mutants() -> None:
    assert {kind for kind, _, _ in OPERATORS} == set(MEANING)
    assert {mutant.kind for mutant in all_mutants()} == {MUTMUT, *MEANING}


def test_mutants_of_a_kind_are_chosen() -> None:
    everything = all_mutants()
    assert len(of_kind(everything, MUTMUT)) + len(of_kind(everything, FURTHER)) == len(everything)
    assert sum(len(of_kind(everything, kind)) for kind in MEANING) == len(of_kind(everything, FURTHER))
    assert of_kind(everything, "") == everything


def test_further_operators_keep_the_names_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module.py").write_text(f"{HEAD}if g(a, b) and g(a, b): return c\n", encoding="utf-8")
    monkeypatch.setattr("tests.mutation.mutants.RUNTIME", tmp_path)
    together = [each.name for each in mutants_of(tmp_path / "module.py") if each.kind == MUTMUT]
    monkeypatch.setattr("tests.mutation.mutants.operators_of", lambda _: ())
    assert [each.name for each in mutants_of(tmp_path / "module.py")] == together
