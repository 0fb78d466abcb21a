"""An example with its value for every path step, operator, intrinsic function, JSONata function and context field."""

from unum_runtime.model.states import Json

DATA: dict[str, Json] = {
    "n": 4,
    "t": "ab",
    "list": [3, 1, 2, 2],
    "rows": [{"k": "a", "n": 1}, {"k": "b", "n": 4}],
    "o": {"x": 1, "y": {"x": 2}},
    "when": "2016-03-14T01:59:00Z",
    "none": None,
    "yes": True,
}
"""Input of all examples."""

PATHS: dict[str, tuple[str, Json]] = {
    "names": ("$.o['x']", 1),
    "indexes": ("$.list[0]", 3),
    "slices": ("$.list[1:3]", [1, 2]),
    "slices with a step, which has no effect": ("$.list[0:3:2]", [3, 1, 2]),
    "wildcards": ("$.o[*]", [1, {"x": 2}]),
    "descent": ("$..x", [1, 2]),
    "unions": ("$.list[0,2]", [3, 2]),
    "several names": ("$.o['x','y']", {"x": 1, "y": {"x": 2}}),
    "filters": ("$.rows[?(@.n > 1 && !(@.k == 'c'))].k", ["b"]),
    "filters that compare with the same item": ("$.rows[?(@.n == @.n)].n", [1, 4]),
    "filters that compare with the input": ("$.rows[?(@.n == $.n)].k", ["b"]),
    "the context object": ("$$.State.Name", "A"),
    "variables": ("$v.x", 1),
}

INTRINSICS: dict[str, tuple[str, Json]] = {
    "States.Array": ("States.Array($.n, 'x')", [4, "x"]),
    "States.ArrayContains": ("States.ArrayContains($.list, 2)", True),
    "States.ArrayGetItem": ("States.ArrayGetItem($.list, 1)", 1),
    "States.ArrayLength": ("States.ArrayLength($.list)", 4),
    "States.ArrayPartition": ("States.ArrayPartition($.list, 3)", [[3, 1, 2], [2]]),
    "States.ArrayRange": ("States.ArrayRange(1, 5, 2)", [1, 3, 5]),
    "States.ArrayUnique": ("States.ArrayUnique($.list)", [3, 1, 2]),
    "States.Base64Decode": ("States.Base64Decode('YWI=')", "ab"),
    "States.Base64Encode": ("States.Base64Encode($.t)", "YWI="),
    "States.Format": ("States.Format('{}-{}', $.t, $.n)", "ab-4"),
    "States.Hash": ("States.Hash($.t, 'MD5')", "187ef4436122d1cc2f40dc2b92f0eba0"),
    "States.JsonMerge": ("States.JsonMerge($.o, $.o, false)", {"x": 1, "y": {"x": 2}}),
    "States.JsonToString": ("States.JsonToString($.list)", "[3,1,2,2]"),
    "States.MathAdd": ("States.MathAdd($.n, 1)", 5),
    "States.MathRandom": ("States.MathRandom(1, 2)", 1),
    "States.StringSplit": ("States.StringSplit('a,b', ',')", ["a", "b"]),
    "States.StringToJson": ("States.StringToJson('{\"a\": 1}')", {"a": 1}),
    "States.UUID": ("States.ArrayLength(States.StringSplit(States.UUID(), '-'))", 5),
}

JSONATA: dict[str, tuple[str, Json]] = {
    "abs": ("$abs(-1)", 1),
    "append": ("$append([1], 2)", [1, 2]),
    "assert": ("($assert(true, 'm'); 1)", 1),
    "average": ("$average([1, 3])", 2),
    "base64decode": ("$base64decode('YWI=')", "ab"),
    "base64encode": ("$base64encode('ab')", "YWI="),
    "boolean": ("$boolean(0)", False),
    "ceil": ("$ceil(1.2)", 2),
    "clone": ("$clone({'a': 1})", {"a": 1}),
    "contains": ("$contains('abc', /b/)", True),
    "count": ("$count([1, 2])", 2),
    "decodeUrl": ("$decodeUrl('a%20b')", "a b"),
    "decodeUrlComponent": ("$decodeUrlComponent('a%2Fb')", "a/b"),
    "distinct": ("$distinct([1, 1, 2])", [1, 2]),
    "each": ("$each({'a': 1, 'b': 2}, function($v) {$v})", [1, 2]),
    "encodeUrl": ("$encodeUrl('a b')", "a%20b"),
    "encodeUrlComponent": ("$encodeUrlComponent('a/b')", "a%2Fb"),
    "error": ("true or $error('never')", True),
    "exists": ("$exists($states.input.nothing)", False),
    "filter": ("$filter([1, 2, 3], function($v) {$v > 1})", [2, 3]),
    "floor": ("$floor(1.8)", 1),
    "formatBase": ("$formatBase(10, 2)", "1010"),
    "formatInteger": ("$formatInteger(12, 'w')", "twelve"),
    "formatNumber": ("$formatNumber(1234.5, '#,##0.00')", "1,234.50"),
    "fromMillis": ("$fromMillis(0)", "1970-01-01T00:00:00.000Z"),
    "hash": ("$hash('ab', 'MD5')", "187ef4436122d1cc2f40dc2b92f0eba0"),
    "join": ("$join(['a', 'b'], '-')", "a-b"),
    "keys": ("$keys({'a': 1, 'b': 2})", ["a", "b"]),
    "length": ("$length('ab')", 2),
    "lookup": ("$lookup({'a': 1}, 'a')", 1),
    "lowercase": ("$lowercase('AB')", "ab"),
    "map": ("$map([1, 2], function($v) {$v * 2})", [2, 4]),
    "match": ("$match('ab', /b/).index", 1),
    "max": ("$max([1, 2])", 2),
    "merge": ("$merge([{'a': 1}, {'b': 2}])", {"a": 1, "b": 2}),
    "millis": ("$millis() > 0", True),
    "min": ("$min([1, 2])", 1),
    "not": ("$not(true)", False),
    "now": ("$contains($now(), 'T')", True),
    "number": ("$number('5')", 5),
    "pad": ("$pad('a', -3, '#')", "##a"),
    "parse": ("$parse('{\"a\": 1}')", {"a": 1}),
    "parseInteger": ("$parseInteger('12', '0')", 12),
    "partition": ("$partition([1, 2, 3], 2)", [[1, 2], [3]]),
    "power": ("$power(2, 3)", 8),
    "random": ("$random() < 1", True),
    "range": ("$range(1, 5, 2)", [1, 3, 5]),
    "reduce": ("$reduce([1, 2, 3], function($a, $b) {$a + $b})", 6),
    "replace": ("$replace('abb', 'b', 'c', 1)", "acb"),
    "reverse": ("$reverse([1, 2])", [2, 1]),
    "round": ("$round(2.5)", 2),
    "shuffle": ("$sort($shuffle([2, 1]))", [1, 2]),
    "sift": ("$sift({'a': 1, 'b': 2}, function($v) {$v > 1})", {"b": 2}),
    "single": ("$single([1, 2], function($v) {$v > 1})", 2),
    "sort": ("$sort([2, 1])", [1, 2]),
    "split": ("$split('a,b', ',')", ["a", "b"]),
    "spread": ("$spread({'a': 1, 'b': 2})", [{"a": 1}, {"b": 2}]),
    "sqrt": ("$sqrt(4)", 2),
    "string": ("$string([1])", "[1]"),
    "substring": ("$substring('abc', 1, 1)", "b"),
    "substringAfter": ("$substringAfter('abc', 'a')", "bc"),
    "substringBefore": ("$substringBefore('abc', 'b')", "a"),
    "sum": ("$sum([1, 2])", 3),
    "toMillis": ("$toMillis('1970-01-01T00:00:01.000Z')", 1000),
    "trim": ("$trim(' a ')", "a"),
    "type": ("$type([])", "array"),
    "uppercase": ("$uppercase('ab')", "AB"),
    "uuid": ("$length($uuid())", 36),
    "zip": ("$zip([1], [2])", [[1, 2]]),
}

OPERANDS: dict[str, tuple[str, Json, str]] = {
    "String": ("$.t", "ab", "$.t"),
    "Numeric": ("$.n", 4, "$.n"),
    "Timestamp": ("$.when", "2016-03-14T01:59:00Z", "$.when"),
    "Boolean": ("$.yes", True, "$.yes"),
}
"""For each type of comparison: a path, an equal literal, and a path to an equal value."""

TYPE_TESTS: dict[str, tuple[str, Json]] = {
    "IsNull": ("$.none", True),
    "IsNumeric": ("$.n", True),
    "IsString": ("$.t", True),
    "IsBoolean": ("$.yes", True),
    "IsTimestamp": ("$.when", True),
    "IsPresent": ("$.n", True),
    "StringMatches": ("$.t", "a*"),
}
"""For each other operator: a path, and an operand for which it holds."""


def rule(operator: str) -> dict[str, Json]:
    """Return a comparison with `operator`, also in its ``Path`` form, of `DATA`."""
    if operator in TYPE_TESTS:
        variable, operand = TYPE_TESTS[operator]
        return {"Variable": variable, operator: operand}
    plain = operator.removesuffix("Path")
    kind = next(each for each in OPERANDS if plain.startswith(each))
    variable, value, path = OPERANDS[kind]
    return {"Variable": variable, operator: path if operator.endswith("Path") else value}


def holds(operator: str) -> bool:
    """Return True if the comparison of equal values by `operator` is true."""
    return operator in TYPE_TESTS or "Equals" in operator
