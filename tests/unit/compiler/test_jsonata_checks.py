import pytest

from unum_compiler.jsonata.check import check_expression, check_template, variables_read


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("$sum($order.items.price) + $rate", {"order.items.price", "rate"}),
        ("$states.context.Execution.Input.a", {"states.context.Execution.Input.a"}),
        ("$states.input.items[price > $limit].sku", {"states.input.items.sku", "limit"}),
        ("$states.'input'.a", {"states.input.a"}),
        ("$lookup($states.context, $key)", {"states.context", "key"}),
        ("$map($states.input, function($v, $i) { $v.a & $w })", {"states.input", "w"}),
        ("($x := $a; $x + $y)", {"a", "y"}),
        ("($x := $x + 1; $x)", {"x"}),
        ("(($x := 1); $x)", {"x"}),
        ("($f := function($n) { $n = 0 ? 1 : $f($n - 1) }; $f($z))", {"z"}),
        ("$states.input.items@$item#$at.{'n': $at, 'of': $item, 'x': $x}", {"states.input.items", "x"}),
        ("$states.input.items[0]#$at.{'n': $at}", {"states.input.items"}),
        ("$states.input ~> |a|{'b': $c}, $d|", {"states.input", "c", "d"}),
        ("$states.input.items^(>price, $by)", {"states.input.items", "by"}),
        ("$states.input.items{sku: $p}", {"states.input.items", "p"}),
        ("$x ~> $uppercase ~> $mine(?, 1)", {"x", "mine"}),
        ("[$range(1, $n, 1), $uuid(), -$m, $a ? $b : 1]", {"n", "m", "a", "b"}),
        ("$a.(b; $c)", {"a", "c"}),
    ],
)
def test_variables_of_an_expression(expression: str, names: set[str]) -> None:
    text = f"{{% {expression} %}}"
    assert variables_read(text) == names
    assert check_expression(text, "$") == []


def test_variables_of_a_template() -> None:
    assert variables_read({"a": ["{% $x %}", "$y"], "b": "{% $states %}", "c": "{% ( %}", "d": None}) == {"x", "states"}


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("$sum($a", "Expected ) before end of expression at character 7 (S0203)"),
        ("10 + * 2", "Syntax error: 2 at character 8 (S0201)"),
        ("420.", "Unexpected end of expression"),
        ("", "Unexpected end of expression"),
        ("'abc", "must be terminated by a matching quote"),
        ("/a(/ ~> $f", "is no JSONata expression"),
        ("(" * 5000, "is no JSONata expression"),
        ("$", "$ has no value outside of paths and filters; use $states.input"),
        ("$$.a", "$$ has no value in Step Functions"),
        ("total * 2", "the name 'total' has no value to be a field of; use $states.input.total"),
        ("{'a': b.c}", "the name 'b' has no value"),
        ("$eval('1')", "the function $eval is not available"),
        ("($states := 1; 2)", "$states is reserved"),
        ("$map($order, function($v) { total })", "the name 'total' has no value"),
        ("$states.foo", "there is no $states.foo; available here: $states.context, $states.input"),
        ("$states.Input.a", "there is no $states.Input"),
        ("$states.result", "$states.result exists in Output and Assign of Task, Parallel and Map only"),
        ("$states.errorOutput.Cause", "$states.errorOutput exists in Output and Assign of catchers only"),
    ],
)
def test_invalid_expressions(expression: str, fault: str) -> None:
    (problem,) = check_expression(f"{{% {expression} %}}", "$.States.A.Output")
    assert problem.path == "$.States.A.Output"
    assert fault in problem.message


@pytest.mark.parametrize(
    "expression",
    ["$order[$.total > 10]", "$order[total > 10]", "$a.{'b': c}", "$a^(b)", "$a.$", "$a.$map(b, function($v) { c })"],
)
def test_inside_of_an_expression_plain_names_and_the_dollar_have_a_value(expression: str) -> None:
    assert check_expression(f"{{% {expression} %}}", "$") == []


def test_fields_of_states_in_each_field() -> None:
    assert check_expression("{% $states.result %}", "$", frozenset({"input", "context", "result"})) == []


def test_an_expression_has_both_ends() -> None:
    template = {"a": ["{% 1", "1 %}", " {% 1 %} ", "{%1%}", 1], "b c": "{% ( %}"}
    assert [problem.path for problem in check_template(template, "$.X")] == ["$.X.a[0]", "$.X.a[1]", "$.X['b c']"]


def test_literals_are_not_expressions() -> None:
    (problem,) = check_expression("$x", "$.X")
    assert problem.message == "expected a JSONata expression from {% to %}, without spaces around; got '$x'"
