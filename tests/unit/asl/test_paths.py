"""Paths: grammar, selection and placement of values."""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import PathNotFound, find, parse, put, read
from unum_runtime.asl.states_errors import ResultPathMatchFailure

SHOP: dict[str, Any] = {
    "books": [
        {"title": "Emma", "price": 8, "tags": ["a", "b"]},
        {"title": "Ulysses", "price": 23.5, "isbn": None},
        {"title": "Walden", "price": 8.0, "sold": True},
    ],
    "owner": {"name": "Ada", "book": {"title": "Notes"}},
    "empty": [],
}

TEXTS = st.text(max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$", SHOP),
        ("$.owner.name", "Ada"),
        ("$['owner'][\"name\"]", "Ada"),
        ("$.owner.['name']", "Ada"),
        ("$.books[0].title", "Emma"),
        ("$.books.[0].title", "Emma"),
        ("$.books[-1].title", "Walden"),
        ("$.books[(@.length-1)].title", "Walden"),
        ("$.owner['name','age']", {"name": "Ada"}),
        ("$.books[1].isbn", None),
        ("$.books[*].price", [8, 23.5, 8.0]),
        ("$.books[0,2,7].title", ["Emma", "Walden"]),
        ("$.books[1:].title", ["Ulysses", "Walden"]),
        ("$.books[:1].title", ["Emma"]),
        ("$.books[0:2:2].title", ["Emma", "Ulysses"]),  # ArraySliceOperation of Jayway ignores a step
        ("$.owner.name ", "Ada"),
        ("$.books[-2:].title", ["Ulysses", "Walden"]),
        ("$.books[*].isbn", [None]),
        ("$.books[*]['title', 'sold']", [{"title": "Emma"}, {"title": "Ulysses"}, {"title": "Walden", "sold": True}]),
        ("$.owner.*.title", ["Notes"]),
        ("$..title", ["Emma", "Ulysses", "Walden", "Notes"]),
        ("$..tags[0]", ["a"]),
        ("$..[0]", [SHOP["books"][0], "a"]),
        ("$.owner..*", ["Ada", {"title": "Notes"}, "Notes"]),
        ("$.empty[*]", []),
        ("$.empty[0:5]", []),
        ("$.books[7][*]", []),
        ("$..missing", []),
    ],
)
def test_finds(text: str, found: Any) -> None:
    assert find(parse(text), SHOP) == found


@pytest.mark.parametrize(
    ("condition", "titles"),
    [
        ("@.price == 8", ["Emma", "Walden"]),
        ("@.price != 8", ["Ulysses"]),
        ("@.price<9", ["Emma", "Walden"]),
        ("@.price <= 8 && @.title > 'F'", ["Walden"]),
        ("@.price >= 23.5 || @.title == Emma", ["Emma", "Ulysses"]),
        ('@.title == "Emma"', ["Emma"]),
        ("@.isbn", ["Ulysses"]),
        ("@.isbn == null", ["Ulysses"]),
        ("!@.isbn", ["Emma", "Walden"]),
        ("!(@.isbn || @.sold)", ["Emma"]),
        ("@.isbn != 1", ["Emma", "Ulysses", "Walden"]),
        ("@.sold == true", ["Walden"]),
        ("@.sold == 1", []),
        ("@.price < 'x'", []),
        ("@.tags[1] == 'b'", ["Emma"]),
        ("@.price == 008", []),
        ("@['title'] == 'Emma' || (@.price > 20 && !(@.sold))", ["Emma", "Ulysses"]),
    ],
)
def test_filters(condition: str, titles: list[str]) -> None:
    assert find(parse(f"$.books[?({condition})].title"), SHOP) == titles


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("@.n == $.low", [0]),
        ("@.n>$.low && @.n <= $.limits[1]", [1]),
        ("!(@.n == $.low)", [1, 2]),
        ("@.n == @.same", [1]),
        ("@.n != @.same", [0, 2]),
        ("@.list == $.limits", [2]),
        ("@.n == $.missing", []),
        ("@.n != $.missing", [0, 1, 2]),
        ("@.n < $.missing", []),
        ("@.missing == $.missing", []),
        ("@.n == $.one", []),
        ("@.n == $['low']", [0]),
    ],
)
@pytest.mark.parametrize("selection", ["$.rows[?({})].id", "$..rows[?({})].id", "$.rows..[?({})].id"])
def test_a_filter_compares_with_values_of_the_item_and_of_the_input(
    condition: str, kept: list[int], selection: str
) -> None:
    rows = [{"id": 0, "n": 1}, {"id": 1, "n": 2, "same": 2.0}, {"id": 2, "n": 3, "list": [1, 2]}]
    data = {"rows": rows, "low": 1, "limits": [1, 2], "one": True}
    assert find(parse(selection.format(condition)), data) == kept


def test_a_filter_passes_objects_only_and_an_object_itself() -> None:
    assert find(parse("$[?(@.a)]"), [{"a": 1}, "a", [{"a": 2}], None]) == [{"a": 1}]
    assert find(parse("$.x[?(@.a)]"), {"x": {"a": 1}}) == [{"a": 1}]
    assert find(parse("$..[?(@.a)]"), {"x": [{"a": 1}]}) == [{"a": 1}]


@pytest.mark.parametrize("name", ["it's", 'a"b', "a\\b", "\\'", "['x']", ""])
@pytest.mark.parametrize("quote", "'\"")
def test_names_with_escaped_quotes_and_backslashes(name: str, quote: str) -> None:
    escaped = name.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    step = f"[{quote}{escaped}{quote}]"
    assert find(parse(f"${step}"), {name: 1}) == 1
    assert find(parse(f"$.a{step}[0]"), {"a": {name: [2]}}) == 2
    assert find(parse(f"$..{step}"), [{name: 3}]) == [3]
    assert find(parse(f"$[?(@{step} == 4)]"), [{name: 4}, {name: 5}]) == [{name: 4}]
    assert put(parse(f"${step}"), {}, 5) == {name: 5}


@pytest.mark.parametrize(
    "text",
    ["$.none[*]", "$.none.*", "$.none[1:]", "$.none[0,1]", "$.none[?(@.x)]", "$.none..x", "$.none.deeper[*].x"],
)
def test_missing_field_before_a_multiple_selector_selects_nothing(text: str) -> None:
    assert find(parse(text), SHOP) == []
    assert find(parse(text), {}) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        # The first text is recorded from AWS, for InputPath and OutputPath.
        ("$.none", "No results for path: $['none']"),
        ("$.books[3]", "No results for path: $['books'][3]"),
        ("$.none.deeper", "Missing property in path $['none']"),
        (
            "$.owner.name.first",
            "Expected to find something with ['first'] in path $['owner']['name'] but found \"Ada\"",
        ),
        ("$.owner[0]", "Expected to find something with [0] in path $['owner']"),
        ("$.owner[0:1]", "Expected to find something with [0:1] in path $['owner']"),
        ("$.owner.name[?(@.x)]", "Expected to find something with [?(@['x'])] in path $['owner']['name']"),
        ("$.books[9]['title','price']", "Missing property in path $['books'][9]"),
    ],
)
def test_a_path_without_value(text: str, reason: str) -> None:
    with pytest.raises(PathNotFound) as caught:
        find(parse(text), SHOP)
    assert caught.value.reason.startswith(reason)


def test_an_index_does_not_select_characters() -> None:
    with pytest.raises(PathNotFound):
        find(parse("$.owner.name[0]"), SHOP)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("$.detail-type", "detail-type"),
        ("$.&Ж中", "&Ж中"),
        (r"$.store\.book", "store.book"),
        (r"$.foo\@bar", "foo@bar"),
        (r"$.\stor\e", "store"),
        (r"$.\uD800\uDF46", "\U00010346"),
        ("$['a b']", "a b"),
        (r"$['it\'s']", "it's"),
        (r'$["tab\t"]', "tab\t"),
        ("$['$.x']", "$.x"),
    ],
)
def test_reads_names(text: str, name: str) -> None:
    assert parse(text).keys == (name,)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "a path begins with $"),
        ("store", 0, "a path begins with $"),
        ("bug$.store", 0, "a path begins with $"),
        ("$states.input", 7, "$states belongs to JSONata"),
        ("$my-name", 3, "expected . or [ or the end"),
        ("$0", 1, "expected . or [ or the end"),
        ("States.UUID()", 0, "expected a path; write intrinsic functions"),
        ("$.", 2, "expected a field name or *"),
        ("$.a b", 3, "expected . or [ or the end"),
        ("$.a.", 4, "expected a field name or *"),
        ("$.a[", 4, "expected 'name', an index, a slice"),
        ("$.a['b]", 4, "closed by the same quote"),
        ("$.a[0", 5, "expected ]"),
        ("$.a[(@.length-0)]", 4, "expected 'name', an index, a slice"),
        (f"$.a[{'9' * 5000}]", 13, "expected ]"),
        ("$.a[:]", 5, "a slice needs a start or an end"),
        ("$.a[::2]", 7, "a slice needs a start or an end"),
        ("$.a[0:9:x]", 8, "expected ]"),
        ("$.a.length()", 10, "the function length() is not supported"),
        ("$..['a','b']", 11, "several names after .. are not supported"),
        ("$.a[?@.b]", 5, "a filter has the form"),
        ("$.a[?(@.b =~ /x/)]", 10, "Step Functions has no operator =~ in filters"),
        ("$.a[?(@.b in ['x'])]", 10, "Step Functions has no operator in in filters"),
        ("$.a[?(@.b subsetof ['x'])]", 10, "Step Functions has no operator subsetof in filters"),
        ("$v[?(@.b == $.c)]", 12, "only paths into the input may compare with a value at $"),
        ("$$.Map[?(@.b == $.c)]", 16, "only paths into the input may compare with a value at $"),
        ("$.a[?(@.b == $v)]", 14, "expected a field, such as @.field"),
        ("$.a[?(@.b == $)]", 14, "expected a field, such as @.field"),
        ("$.a[?(@.b == $.c[*])]", 16, "expected names and indexes only after @ or $"),
        ("$.a[?(@ == 1)]", 7, "expected a field, such as @.field"),
        ("$.a[?(@.b[*] == 1)]", 9, "expected names and indexes only after @"),
        ("$.a[?(1 < @.b)]", 6, "expected @.field"),
        ("$.a[?(@.b == )]", 13, "expected a literal"),
        ("$.a[?(@.b.size() == 1)]", 14, "the function size() is not supported"),
        ("$.a[?(@.b == 1]", 14, "expected ), && or ||"),
    ],
)
def test_refuses(text: str, position: int, message: str) -> None:
    with pytest.raises(PathSyntaxError, match="character") as caught:
        parse(text)
    assert (caught.value.text, caught.value.position) == (text, position)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_definite", "is_reference"),
    [
        ("$", True, True),
        ("$['store'][0]['book']", True, True),
        ("$.ledgers[0][22][315].foo", True, True),
        ("$$.Execution.Id", True, True),
        ("$.a[-1]", True, False),
        ("$['a','b']", True, False),
        ("$['a','b'].c", False, False),
        ("$.a[0,1]", False, False),
        ("$.a[0:1]", False, False),
        ("$.*", False, False),
        ("$..a", False, False),
        ("$.a[?(@.b)]", False, False),
    ],
)
def test_classifies(text: str, is_definite: bool, is_reference: bool) -> None:  # noqa: FBT001 - a table of cases
    assert (parse(text).is_definite, parse(text).is_reference) == (is_definite, is_reference)


def test_two_dollars_read_the_context_object() -> None:
    path = parse("$$.Execution.Id")
    assert path.is_context
    assert find(path, {"Execution": {"Id": "x"}}) == "x"


def test_a_path_is_parsed_once() -> None:
    assert parse("$.once") is parse("$.once")


LITERALS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def path_texts(draw: st.DrawFn) -> str:
    quote = draw(st.sampled_from(["'", '"']))
    name = draw(TEXTS).replace("\\", "\\\\").replace(quote, "\\" + quote)
    index = draw(st.integers(-5, 5))
    steps = [f"[{quote}{name}{quote}]", f"[{index}]", f"[{index}:]", "[*]", ".a", "..b", f"['x',{quote}{name}{quote}]"]
    steps += [f"[0,{index}]", f"[?(@.a > {index} && !(@['b'] == {quote}{name}{quote}) || @.c)]"]
    chosen = draw(st.lists(st.sampled_from(steps), max_size=4))
    return draw(st.sampled_from(["$", "$$"])) + "".join(chosen)


@given(path_texts())
def test_a_printed_path_reads_back(text: str) -> None:
    path = parse(text)
    assert parse(str(path)) == path
    assert str(parse(str(path))) == str(path)


@given(path_texts(), JSON)
def test_selection_changes_nothing(text: str, root: Any) -> None:
    before = copy.deepcopy(root)
    with suppress(PathNotFound):
        find(parse(text), root)
    assert root == before


@st.composite
def reference_texts(draw: st.DrawFn) -> str:
    return "$" + "".join(f".{name}" for name in draw(st.lists(st.sampled_from("abc"), max_size=4)))


OBJECTS = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
)


@given(reference_texts(), OBJECTS, JSON)
def test_a_placed_value_is_found_and_the_root_stays(text: str, root: Any, value: Any) -> None:
    before = copy.deepcopy(root)
    try:
        changed = put(parse(text), root, value)
    except ResultPathMatchFailure:
        changed = None
    else:
        assert find(parse(text), changed) is value
    assert root == before


@given(OBJECTS, reference_texts())
def test_placing_the_present_value_changes_nothing(root: Any, text: str) -> None:
    try:
        there = find(parse(text), root)
    except PathNotFound:
        return
    assert put(parse(text), root, there) == root


@pytest.mark.parametrize(
    ("root", "text", "changed"),
    [
        # The first three are examples of the specification.
        ({"master": {"detail": [1, 2, 3]}}, "$.master.detail", {"master": {"detail": 6}}),
        (
            {"master": {"detail": [1]}},
            "$.master.result.sum",
            {"master": {"detail": [1], "result": {"sum": 6}}},
        ),
        ({"a": 1}, "$.b.greeting", {"a": 1, "b": {"greeting": 6}}),
        ({"a": 1}, "$", 6),
        ([{"x": 1}, 2], "$[0].run.output", [{"x": 1, "run": {"output": 6}}, 2]),
        ({}, "$['a b']", {"a b": 6}),
    ],
)
def test_puts(root: Any, text: str, changed: Any) -> None:
    assert put(parse(text), root, 6) == changed


@pytest.mark.parametrize(
    ("root", "text"),
    [
        ("foo", "$.x"),  # the example of the specification
        ({"a": 1}, "$.a.b"),
        ({"a": None}, "$.a.b"),
        ([1], "$.a"),
        ([1], "$[1]"),
        ({}, "$.a[0]"),
        ({}, "$[0]"),
    ],
)
def test_cannot_put(root: Any, text: str) -> None:
    with pytest.raises(ResultPathMatchFailure) as caught:
        put(parse(text), root, 6)
    assert caught.value.error == "States.ResultPathMatchFailure"
    assert caught.value.cause.startswith(f"Unable to apply ReferencePath {text} to input ")


@pytest.mark.parametrize("text", ["$.a[*]", "$..a", "$$.a", "$[-1]"])
def test_puts_only_at_reference_paths_into_the_input(text: str) -> None:
    with pytest.raises(ValueError, match="expected a reference path into the input"):
        put(parse(text), {}, 6)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$", {"x": 1}),
        ("$.x", 1),
        ("$$.x", 2),
        ("$x", {"y": [3, 4]}),
        ("$x.y[1]", 4),
        ("$x['y'][0]", 3),
        ("$x..*", [[3, 4], 3, 4]),
        ("$größe", 5),
    ],
)
def test_a_path_begins_at_the_input_the_context_or_a_variable(text: str, found: Any) -> None:
    context = ExpressionContext({"x": 2}, {"x": {"y": [3, 4]}, "größe": 5})
    assert read(parse(text), {"x": 1}, context) == found


def test_the_root_of_a_path() -> None:
    paths = [parse(text) for text in ("$.x", "$$.x", "$x.y")]
    assert [(path.is_context, path.variable, str(path)) for path in paths] == [
        (False, None, "$['x']"),
        (True, None, "$$['x']"),
        (False, "x", "$x['y']"),
    ]


def test_a_variable_is_no_field_of_the_input() -> None:
    with pytest.raises(PathNotFound) as caught:
        read(parse("$x"), {"x": 1}, ExpressionContext({}, {"a": 1, "b": 2}))
    assert caught.value.source_text == "the variables that are assigned: a, b"
