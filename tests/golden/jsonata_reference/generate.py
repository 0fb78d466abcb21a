"""Generated JSONata expressions: each kind takes odd arguments from fixed stocks, by a random source with a seed."""

import random
from collections.abc import Callable
from typing import Any

from tests.golden.jsonata_reference.peer import Question

INPUT: dict[str, Any] = {
    "a": [3, 1, 2],
    "o": {"b": 1, "c": [{"d": 1, "e": "x"}, {"d": 2, "e": "y"}, {"d": 1, "e": "z"}]},
    "s": "Hello, wörld",
    "n": None,
    "t": True,
    "f": 2.5,
    "m": [[1, 2], [3, [4]], []],
    "e": {},
    "x": [1, "1", None, True, {"b": [1]}, [1]],
}

NUMBERS = (
    *("0", "1", "2", "-1", "-3", "3.7", "-0.5", "0.1", "2.5", "1.005", "-2.5", "10", "100", "1e3", "1e15", "1e16"),
    *("123456789", "1234567.891", "0.000001", "1e-7", "1.7e21", "1e300", "99.995", "255", "1700000000000", "-86400000"),
    *("$states.input.a[0]", "$states.input.f"),
)
SMALL = ("0", "1", "2", "3", "-1", "-2", "0.5", "1.5", "-1.5", "5", "16", "36", "37")
TEXTS = (
    *("''", "'a'", "'abc'", "'ABC'", "'Hello World'", "'  two  words '", "'a,b,,c'", "'été'", "'ß'", "'1'", "'-12.5'"),
    *("'0x1F'", "'0b11'", "'0o17'", "'1e3'", "' 5 '", "'+5'", "'5.'", "'.5'", "'1,000'", "'007'", "'true'", "'null'"),
    *("'%'", "'%41'", "'%zz'", "'%E9'", "'%C3%A9'", "'a b/c?d=e&f#g'", "'100%'", "'%2F%3f'", "'YQ=='", "'YWJj'"),
    *("'a\\nb\\tc'", "'aaa'", "'IV'", "'xii'", "'twelve'", "'one hundred and five'", "$states.input.s"),
)
PLAIN_TEXTS = tuple(text for text in TEXTS if text not in ("'été'", "'ß'", "$states.input.s"))
ARRAYS = (
    *("[]", "[1]", "[3,1,2]", "['b','a','C']", "[1,'a']", "[[1],[2,3]]", "[1,1,2,1.0]", "[true,false]", "[null]"),
    *("$states.input.a", "$states.input.m", "$states.input.x", "$states.input.o.c", "[1..5]", "[[1],[1]]", "['a']"),
    *("[{'a':1},{'a':2}]", "[{'a':1,'b':2},{'b':2,'a':1}]", "['','a','']", "[0.1,0.2,0.3]", "[1..3,5..6]"),
)
OBJECTS = ("{}", "{'a':1}", "{'b':2,'a':[1,2]}", "$states.input.o", "$states.input.e", "{'a':null}", "{'a':{'b':1}}")
OTHERS = ("null", "true", "false", "$states.input.nope", "$states.input.n", "function($v){$v}", "$sum", "[]")
VALUES = NUMBERS[:16] + TEXTS[:14] + ARRAYS + OBJECTS + OTHERS
FUNCTIONS = (
    *("function($v){$v}", "function($v,$i){$i}", "function($v,$i){$v & $i}", "function($v){$v > 1}", "$string", "$sum"),
    *("function($a,$b){$a & $b}", "function($a,$b){$a > $b}", "function($a,$b){[$a,$b]}", "$append", "$boolean"),
    *("$uppercase", "$number", "$type", "$exists", "$count", "$round", "$power", "$not", "function(){1}", "$max"),
    *("function($v,$i,$a){$count($a)}", "$substring(?,0,1)", "$uppercase ~> $lowercase", "$string ~> $length", "$keys"),
)
REGEXES = (
    *(
        "/a/",
        "/[a-c]+/",
        "/b(c)?/",
        "/(a)(b)/",
        "/\\s+/",
        "/,/",
        "/./",
        "/^a/",
        "/A/i",
        "/\\d+/",
        "/(\\w)(\\w)/",
        "/x*/",
    ),
    *("/o/", "/(l+)o/", "/$/", "/a|b/", "/(?:a)(b)?/", "/[^a]/", "/\\bw/"),
)
INTEGER_PICTURES = (
    *("'0'", "'00'", "'#,##0'", "'#0'", "'000'", "'a'", "'A'", "'i'", "'I'", "'w'", "'W'", "'Ww'", "'w;o'", "'0;o'"),
    *("'#'", "''", "'x'", "'1;o'", "'0,000'", "'#:##0'", "'\u0660'", "'0\u0660'", "'Ww;o'", "'##,##,#0'"),
)
DATE_PICTURES = (
    *(
        "'[Y]-[M]-[D]'",
        "'[Y0001]-[M01]-[D01]'",
        "'[D]/[M]/[Y]'",
        "'[H01]:[m01]:[s01]'",
        "'[h]:[m] [P]'",
        "'[MNn] [D1o]'",
    ),
    *(
        "'[FNn], [D] [MNn,3-3] [Y]'",
        "'[Y0001]-[M01]-[D01]T[H01]:[m01]:[s01].[f001]Z'",
        "'[d]'",
        "'[W]'",
        "'[w]'",
        "'[X]'",
    ),
    *("'[x]'", "'[Q]'", "'[Y'", "'[[Y]]'", "'[Y]]]'", "'[f]'", "'[Z]'", "'[z]'", "'[H]'", "'[DW]'", "'[Yw]'", "'[MI]'"),
    *(
        "'[Y,2-2]'",
        "'[Y,*-2]'",
        "'[FNn,3-3]'",
        "'[PN]'",
        "'[Z0101]'",
        "'[H#1]'",
        "'[Y]Q'",
        "'plain'",
        "'[D]th'",
        "'[C]'",
    ),
    *("'[Y] [M] [D] [H] [m] [s]'", "'[Da]'", "'[YI]'", "'[DWwo]'", "'[E]'", "'[HN]'", "'[]'"),
)
TIMESTAMPS = (
    *("'2020'", "'2020-02'", "'2020-02-29'", "'2020-02-30'", "'2020-13-01'", "'2023-11-14T22:13:20Z'", "'abc'", "''"),
    *("'2023-11-14T22:13:20.123Z'", "'2023-11-14T22:13:20+02:00'", "'2023-11-14T22:13:20-0330'", "'14/11/2023'"),
    *("'1/2/3'", "'10:30'", "'10:30:59'", "'11:30 pm'", "'December 24th'", "'Monday, 1 Jan 2024'", "'99999-01-01'"),
    *("'2023-1-5'", "'00-01-01'", "'2020-02-29T24:00:00Z'", "'2020-02-29Z'", "'MMXX'", "'5th'", "'12 31 2020'"),
)
ZONES = ("'+0000'", "'+0100'", "'-0500'", "'+0530'", "'-0330'", "'0100'", "'+1'")
NUMBER_PICTURES = (
    *("'0'", "'#'", "'0.00'", "'#,##0.00'", "'#0.#'", "'00.000e0'", "'0%'", "'#.00‰'", "'#0.00;(#0.00)'", "'###'"),
    *(
        "'#,##,#00.000,0'",
        "'0.0.0'",
        "'0;0;0'",
        "''",
        "'x'",
        "'0x0'",
        "'#0#'",
        "'0#'",
        "'.00'",
        "'0.'",
        "'#,'",
        "'00e'",
    ),
    *("'$0.00'", "'0.#0'", "'%0%'", "'0,,0'", "'0e0'", "'#e0'", "'0.0e00'", "'12'", "'0,0.0'"),
)
PATHS = ("*", "**", "o.*", "x.*", "m.*", "o.c.*", "o.**.d", "m", "x.b", "o.c[].e", "a[]")
OPERATORS = ("+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "&", "and", "or", "in")

_Random = random.Random
_Kind = Callable[[_Random], str]


def _number(source: _Random) -> str:
    pick, small = source.choice(NUMBERS), source.choice(SMALL)
    shapes = (
        f"$round({pick},{source.choice(SMALL[:9])})",
        f"$formatBase({pick},{small})",
        f"$power({pick},{small})",
        f"${source.choice(['floor', 'ceil', 'abs', 'sqrt', 'round', 'string', 'number'])}({pick})",
        f"({pick}) {source.choice(OPERATORS)} ({source.choice(NUMBERS)})",
        f"${source.choice(['sum', 'max', 'min', 'average'])}([{pick},{source.choice(NUMBERS)},{small}])",
        f"$number({source.choice(TEXTS + OTHERS)})",
        f"-({source.choice(VALUES)})",
    )
    return source.choice(shapes)


def _index(source: _Random) -> str:
    array, one, two = source.choice(ARRAYS), source.choice(SMALL), source.choice(SMALL)
    shapes = (
        f"{array}[{one}]",
        f"{array}[[{one},{two}]]",
        f"{array}[[{one}..{two}]]",
        f"({array})[$ = {source.choice(VALUES)}]",
        f"({array}).$[{one}]",
        f"$states.input.o.c[d={one}].e",
        f"$states.input.o.c.d[{one}]",
        f"({array})[{source.choice(VALUES)}]",
        f"[{one}..{two}]",
        f"$states.input.m[{one}][{two}]",
        f"$states.input.{source.choice(PATHS)}",
        f"$count({array}[$ {source.choice(OPERATORS)} {one}])",
    )
    return source.choice(shapes)


def _date(source: _Random) -> str:
    millis, picture, zone = source.choice(NUMBERS), source.choice(DATE_PICTURES), source.choice(ZONES)
    shapes = (
        f"$fromMillis({millis})",
        f"$fromMillis({millis},{picture})",
        f"$fromMillis({millis},{picture},{zone})",
        f"$fromMillis({source.randrange(-(10**12), 4 * 10**12)},{picture})",
        f"$toMillis({source.choice(TIMESTAMPS)})",
        f"$toMillis({source.choice(TIMESTAMPS)},{picture})",
        f"$toMillis($fromMillis({source.randrange(-(10**12), 4 * 10**12)},{picture}),{picture})",
    )
    return source.choice(shapes)


def _picture(source: _Random) -> str:
    number, picture = source.choice(NUMBERS), source.choice(INTEGER_PICTURES)
    options = source.choice(
        ["", "", ",{'decimal-separator':','}", ",{'zero-digit':'\u0660'}", ",{'percent':'p'}", ",{}"]
    )
    shapes = (
        f"$formatNumber({number},{source.choice(NUMBER_PICTURES)}{options})",
        f"$formatInteger({number},{source.choice(INTEGER_PICTURES)})",
        f"$parseInteger({source.choice(TEXTS)},{source.choice(INTEGER_PICTURES)})",
        f"$parseInteger($formatInteger({source.randrange(5000)},{picture}),{source.choice(INTEGER_PICTURES)})",
        f"$parseInteger($formatInteger({source.randrange(5000)},{picture}),{picture})",
    )
    return source.choice(shapes)


def _url(source: _Random) -> str:
    names = ["encodeUrl", "encodeUrlComponent", "decodeUrl", "decodeUrlComponent", "base64encode", "base64decode"]
    name = source.choice(names)
    text = source.choice(PLAIN_TEXTS if "base64" in name else TEXTS)
    return source.choice([f"${name}({text})", f"${name}(${source.choice(names[:4])}({text}))"])


def _equality(source: _Random) -> str:
    one, two = source.choice(VALUES), source.choice(VALUES)
    shapes = (
        f"{one} {source.choice(OPERATORS[5:])} {two}",
        f"[{one}] = [{two}]",
        f"{one} in [{two},{one}]",
        f"($x := {one}; $x in [{two},$x])",
        f"$distinct([{one},{two},{one}])",
        f"$distinct({source.choice(ARRAYS)})",
        f"{{'k':{one}}} = {{'k':{two}}}",
        f"({one}) = ({one})",
        f"$boolean({one})",
        f"$not([{one},{two}])",
        f"({one}) ? 1 : 2",
        f"$type({one})",
        f"$string({one})",
        f"'' & {one}",
    )
    return source.choice(shapes)


def _higher(source: _Random) -> str:
    array, function = source.choice(ARRAYS + VALUES), source.choice(FUNCTIONS)
    shapes = (
        f"$map({array},{function})",
        f"$filter({array},{function})",
        f"$reduce({array},{function})",
        f"$reduce({array},{function},{source.choice(VALUES)})",
        f"$single({array},{function})",
        f"$sort({array},{function})",
        f"$sort({array})",
        f"$each({source.choice(OBJECTS)},{function})",
        f"$sift({source.choice(OBJECTS)},{function})",
        f"({array}) ~> $map({function})",
        f"({array}) ~> {function}",
        f"$states.input.o.c^({source.choice(['d', '>d', 'e', '<d,>e', 'nope', 'd,e'])}).e",
        f"({array})^($)",
        f"$zip({array},{source.choice(ARRAYS)})",
    )
    return source.choice(shapes)


def _text(source: _Random) -> str:
    text, other, small, regex = (source.choice(stock) for stock in (TEXTS, TEXTS, SMALL, REGEXES))
    shapes = (
        f"$substring({text},{small})",
        f"$substring({text},{small},{source.choice(SMALL)})",
        f"${source.choice(['substringBefore', 'substringAfter', 'contains', 'split'])}({text},{other})",
        f"${source.choice(['lowercase', 'uppercase', 'length', 'trim'])}({text})",
        f"$pad({text},{source.choice(['3', '-3', '10', '-10', '0'])}{source.choice(['', ',', ',']) and ',' + other})",
        f"$replace({text},{other},{source.choice(TEXTS)})",
        f"$replace({text},{regex},{source.choice(['$0', '[$1]', '$$', '$2$1', 'x', '$', '$12'])!r})",
        f"$replace({text},{regex},function($m){{$m.match & $count($m.groups)}})",
        f"$replace({text},{regex},'-',{small})",
        f"$match({text},{regex})",
        f"$match({text},{regex},{small})",
        f"$contains({text},{regex})",
        f"$split({text},{regex})",
        f"$split({text},{source.choice([other, regex])},{small})",
        f"$join({source.choice(ARRAYS)}{source.choice(['', ',' + other])})",
        f"{regex}({text})",
    )
    return source.choice(shapes)


def _object(source: _Random) -> str:
    value, key = source.choice(OBJECTS + ARRAYS), source.choice(["d", "e", "$string(d)", "'k'", "nope"])
    shapes = (
        f"$states.input.o.c{{{key}: {source.choice(['d', 'e', '$', '$count($)', '[d]', 'nope'])}}}",
        f"({value}){{'k': $}}",
        f"{{{key if key.startswith(chr(39)) else chr(39) + 'k' + chr(39)}: {source.choice(VALUES)}}}",
        f"${source.choice(['keys', 'spread', 'merge', 'count', 'reverse', 'clone', 'exists', 'sum', 'max'])}({value})",
        f"$lookup({value},{source.choice(TEXTS[:6])})",
        f"$append({value},{source.choice(VALUES)})",
        f"({value}) ~> |$|{{'z':{source.choice(VALUES)}}}{source.choice(['', ',' + chr(39) + 'a' + chr(39)])}|",
        "$states.input.o.c@$v.{'d':$v.d}",
        "$states.input.o.c#$i.{'i':$i,'e':e}",
        f"$states.input.o.c#$i[$i={source.choice(SMALL)}].e",
        "$states.input.o.c.{'e':e,'b':%.b}",
        f"$merge([{source.choice(OBJECTS)},{source.choice(OBJECTS)}])",
        f"$spread({value}).a",
        f"[{source.choice(VALUES)},{source.choice(VALUES)}]",
    )
    return source.choice(shapes)


def _signature(source: _Random) -> str:
    """Return a call of any function with any arguments."""
    count = source.randrange(4)
    arguments = ",".join(source.choice(VALUES) for _ in range(count))
    return f"${source.choice(NAMES)}({arguments})"


NAMES = (
    *("sum", "count", "max", "min", "average", "string", "substring", "substringBefore", "substringAfter"),
    *("lowercase", "uppercase", "length", "trim", "pad", "match", "contains", "replace", "split", "join"),
    *("formatNumber", "formatBase", "formatInteger", "parseInteger", "number", "floor", "ceil", "round", "abs"),
    *("sqrt", "power", "boolean", "not", "map", "zip", "filter", "single", "reduce", "sift", "keys", "lookup"),
    *("append", "exists", "spread", "merge", "reverse", "each", "error", "assert", "type", "sort", "distinct"),
    *("base64encode", "base64decode", "encodeUrlComponent", "encodeUrl", "decodeUrlComponent", "decodeUrl"),
    *("toMillis", "fromMillis", "clone"),
)
"""Functions that the reference implementation has too, without those of time and random numbers, and ``$eval``."""

KINDS: dict[str, _Kind] = {
    "numbers": _number,
    "indexes": _index,
    "dates": _date,
    "pictures": _picture,
    "URLs and Base64": _url,
    "equality": _equality,
    "higher-order functions": _higher,
    "texts": _text,
    "objects": _object,
    "any function": _signature,
}


def generate(count: int, seed: int) -> list[Question]:
    """Return different questions, as many of each kind."""
    source = random.Random(seed)  # noqa: S311 - repeatable on purpose
    found: dict[str, Question] = {}
    names = list(KINDS)
    while len(found) < count:
        kind = names[len(found) % len(names)]
        expression = KINDS[kind](source)
        if expression not in found:
            found[expression] = Question(kind, expression, INPUT)
    return list(found.values())
