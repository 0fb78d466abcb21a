"""Figures of docstrings, comments and names that CONTRIBUTING.md promises for the product and its tests."""

import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.house import DISTRIBUTIONS, ROOT, modules

MOST_FUNCTION_WORDS = {"product": 0.45, "tests": 0.5}
"""Median share of function words in the first paragraph of a docstring; half of the words should say something."""

MOST_QUESTIONS = 0.03
"""Share of docstrings that open with a question word instead of a verb or a noun."""

FEWEST_COMMENTS = 12
"""Comments per 1,000 lines, without directives for tools."""

LONGEST_TEST_NAME = 70
"""Characters; a longer name tells more than one thing."""

FUNCTION_WORDS = frozenset(
    """
    a an the this that these those it its he she they them their we us our you your i one ones who whom whose which
    what whatever whoever where when while why how whether if unless until as than then so such and or but nor not
    no of in on at by for from to into onto with without within out up down over under about above after again
    against before behind between beyond during through is are was were be been being am do does did done has have
    had having can could may might must shall should will would there here some any each every all both either
    neither nothing nobody none somebody something anybody anything everybody everything else other others another
    only also too very just even still yet already ever never because though although itself themselves own same
    more most much many few less least
    """.split()  # noqa: SIM905 - a list of words reads better without quotes
)
QUESTIONS = frozenset("what whether how where which when who whose whom why".split())  # noqa: SIM905 - the same
DIRECTIVES = re.compile(r"#\s*(noqa|type:|pragma|ruff:|mypy:|fmt:|!)")
WRITING = frozenset(("create", "write", "send", "invoke", "commit", "put_item", "put_object", "send_message"))
PARTICIPLE = re.compile(r"_?([a-z]+(?<!e)ed|sent|begun|taken|given|kept|held|written|drawn|done|told)")

REPLACED_WORDS = {
    r"doors?": "alias",
    r"called functions?": "invoked function",
    r"(service|AWS|control) calls?": "request",
    r"store calls?": "store operation",
    r"Node (?=functions?|process|\d)": "Node.js",
}
"""Words that had a second meaning, as patterns, with the words of the glossary for it."""

REPLACED_NAMES = {
    r"([A-Za-z_]+_)?door(_\w+)?": "alias",
    r"[A-Za-z]*Door[A-Za-z]*": "Alias",
    r"_?told": "reply, report, record",
}
"""Names that had a second meaning, as patterns, with what to write instead. `doors` was public: it works, and warns."""

STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""Nodes in which definitions can be; expressions have none."""

SOURCES = {"product": [*DISTRIBUTIONS.values(), ROOT / "benchmarks"], "tests": [ROOT / "tests"]}

both = pytest.mark.parametrize("kind", SOURCES)


@cache
def docstrings(kind: str) -> list[str]:
    """Return the first paragraph of every docstring, with one word for quoted code."""
    texts = (each.docstring for path in sources(kind) for each in definitions(path.read_text(encoding="utf-8")))
    return [re.sub(r"`+[^`]*`+", " code ", text.partition("\n\n")[0]) for text in texts if text]


class Definition(NamedTuple):
    """A module, class or function: syntax trees of all files would take the memory that makes them slow.

    Attributes:
        writer: name of a function that writes or sends behind the name of a participle; "" for all else.
    """

    docstring: str
    writer: str = ""


@cache
def definitions(source: str) -> list[Definition]:
    """Return the module of `source`, and all classes and functions in it."""
    found: list[Definition] = []
    left: list[ast.AST] = [ast.parse(source)]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef) and PARTICIPLE.fullmatch(node.name) and calls(node) & WRITING:
            found.append(Definition(ast.get_docstring(node) or "", node.name))
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(Definition(ast.get_docstring(node) or ""))
        left += [each for each in ast.iter_child_nodes(node) if isinstance(each, STATEMENTS)]
    return found


def sources(kind: str = "product") -> Iterator[Path]:
    return (path for folder in SOURCES[kind] for path in modules(folder))


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


@both
def test_docstrings_are_made_of_nouns_and_verbs(kind: str) -> None:
    shares = [
        sum(word in FUNCTION_WORDS for word in found) / len(found)
        for found in map(words, docstrings(kind))
        if len(found) > 5
    ]
    assert statistics.median(shares) <= MOST_FUNCTION_WORDS[kind]


@both
def test_docstrings_open_with_what_a_thing_does_or_is(kind: str) -> None:
    openings = [found[0] for found in map(words, docstrings(kind)) if found]
    assert sum(word in QUESTIONS for word in openings) <= MOST_QUESTIONS * len(openings)


def test_code_is_commented() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sources()]
    comments = sum(
        token.type == tokenize.COMMENT and not DIRECTIVES.match(token.string)
        for text in texts
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )
    assert 1000 * comments / sum(text.count("\n") for text in texts) >= FEWEST_COMMENTS


@both
def test_what_writes_has_a_verb_for_a_name(kind: str) -> None:
    assert [
        f"{path.name}: {name}" for path in sources(kind) for name in hidden_writes(path.read_text(encoding="utf-8"))
    ] == []


@both
def test_one_word_has_one_meaning(kind: str) -> None:
    assert [
        f"{path.relative_to(ROOT)}: {found!r}"
        for path in sources(kind)
        if path != Path(__file__)
        for found in replaced(path.read_text(encoding="utf-8"))
    ] == []


def test_names_of_tests_are_short() -> None:
    texts = (path.read_text(encoding="utf-8") for path in modules(ROOT / "tests"))
    names = (name for text in texts for name in re.findall(r"def (test_\w+)", text))
    assert [name for name in names if len(name) > LONGEST_TEST_NAME] == []


def replaced(source: str) -> Iterator[str]:
    """Words in docstrings and comments, and names, that the glossary has replaced."""
    pattern, name = re.compile(rf"\b({'|'.join(REPLACED_WORDS)})\b"), re.compile("|".join(REPLACED_NAMES))
    if not re.search(rf"\b(?:{'|'.join(REPLACED_NAMES)})\b", source) and not pattern.search(unwrapped(source)):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            yield from (found[0] for found in pattern.finditer(unwrapped(token.string)))
        elif token.type == tokenize.NAME and name.fullmatch(token.string):
            yield token.string


def unwrapped(text: str) -> str:
    """Return `text` without quoted code, in one line."""
    return " ".join(re.sub(r"`+[^`]*`+", "", text).split())


def hidden_writes(source: str) -> Iterator[str]:
    """Functions that are named by a participle and call a method that writes or sends."""
    yield from (each.writer for each in definitions(source) if each.writer)


def calls(node: ast.AST) -> set[str]:
    return {
        call.func.attr for call in ast.walk(node) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def recorded(store): store.create(1)", ["recorded"]),
        ("def _sent(queue): return queue.send(1)", ["_sent"]),
        ("def record(store): store.create(1)", []),
        ("def recorded(store): return store.read(1)", []),
        ("def feed(store): store.create(1)", []),
    ],
)
def test_the_measure_of_names(source: str, expected: list[str]) -> None:
    assert list(hidden_writes(source)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""The doors of it."""', ["doors"]),
        ("x = 1  # a service call\n# of a called function", ["service call", "called function"]),
        ("door_of = CallDoor.told", ["door_of", "CallDoor", "told"]),
        ('"""Requests to services, invoked functions, aliases, Node.js functions."""', []),
        ("said = 'door'", []),
    ],
)
def test_the_measure_of_words(source: str, expected: list[str]) -> None:
    assert list(replaced(source)) == expected
