"""Steps of the interpreter that count their work, or follow the reference implementation where the library does not.

The library copies an array for each item that a step adds, which takes hours for large ones; here each result is built
once. Sources: https://docs.jsonata.org, and the reference implementation, JSONata 2.0.6, for open questions.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unum_runtime.asl.jsonata.array_functions import clone, merge_sort
from unum_runtime.asl.jsonata.equality import compare, count_index, is_among, is_equal, is_number, truth
from unum_runtime.asl.jsonata.evaluation_limits import (
    COPY,
    MAX_ITEMS,
    PARSE,
    VISIT,
    check_size,
    current,
    spend_tree,
)
from unum_runtime.asl.jsonata.failures import Failure
from unum_runtime.asl.jsonata.library import Functions, JException, Jsonata, Utils
from unum_runtime.asl.jsonata.navigation import flatten, is_array_of_numbers, lookup
from unum_runtime.asl.jsonata.string_form import to_string

_RANGE_TOO_LONG = "D2014"
_NO_FUNCTION = "T1006"
_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Interpreter(Jsonata):  # type: ignore[misc] # the library has no types
    """The library's evaluator with corrections of language deviations and unsafe behaviour."""

    def evaluate_step(self, expr: Any, input: Any, environment: Any, last_step: Any) -> Any:  # noqa: A002 - the library's
        """Evaluate one path step per input value."""
        if expr.type == "sort":
            result = self.evaluate_sort_expression(expr, input, environment)
            return result if expr.stages is None else self.evaluate_stages(expr.stages, result, environment)
        found = []
        for value in input:
            each = self.eval(expr, value, environment)
            for stage in expr.stages or ():
                each = self.evaluate_filter(stage.expr, each, environment)
            if each is not None:
                found.append(each)
        if last_step and len(found) == 1 and isinstance(found[0], list) and not Utils.is_sequence(found[0]):
            return found[0]
        result = Utils.create_sequence()
        for each in found:
            if isinstance(each, list) and not getattr(each, "cons", False):
                extend(result, each)
            else:
                result.append(each)
        return result

    def evaluate_tuple_step(self, expr: Any, input: Any, tuple_bindings: Any, environment: Any) -> Any:  # noqa: A002
        """Evaluate one path step that binds variables; tuples hold bindings."""
        if expr.type == "sort":
            result = self._sorted_tuples(expr, input, tuple_bindings, environment)
        else:
            result = Utils.create_sequence()
            result.tuple_stream = True
            for binding in [{"@": item} for item in input] if tuple_bindings is None else tuple_bindings:
                found = self.eval(expr, binding["@"], self.create_frame_from_tuple(environment, binding))
                if found is not None:
                    extend(result, self._tuples(expr, binding, found), VISIT * (len(binding) + 2))
        return result if expr.stages is None else self.evaluate_stages(expr.stages, result, environment)

    def _sorted_tuples(self, expr: Any, input: Any, tuple_bindings: Any, environment: Any) -> Any:  # noqa: A002
        if tuple_bindings is not None:
            return self.evaluate_sort_expression(expr, tuple_bindings, environment)
        ordered = self.evaluate_sort_expression(expr, input, environment)
        result = Utils.create_sequence_from_iter({"@": item, expr.index: index} for index, item in enumerate(ordered))
        result.tuple_stream = True
        return result

    @staticmethod
    def _tuples(expr: Any, binding: Mapping[str, Any], found: Any) -> Iterable[dict[str, Any]]:
        items = found if isinstance(found, list) else [found]
        if getattr(found, "tuple_stream", False):
            return _Sized(len(items), ({**binding, **item} for item in items))
        focus = "@" if expr.focus is None else expr.focus

        def bound(index: int, item: Any) -> dict[str, Any]:
            own = {**binding, focus: item}
            if expr.index is not None:
                own[expr.index] = index
            if expr.ancestor is not None:
                own[expr.ancestor.label] = binding["@"]
            return own

        return _Sized(len(items), (bound(index, item) for index, item in enumerate(items)))

    def evaluate_filter(self, predicate: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - the library's name
        """Return items selected by index, index array, or condition."""
        results, is_stream = Utils.create_sequence(), getattr(input, "tuple_stream", False)
        results.tuple_stream = is_stream
        items = input if isinstance(input, list) else [] if input is None else [input]
        if predicate.type == "number":
            index = math.floor(predicate.value)
            index = index if index >= 0 else len(items) + index
            if 0 <= index < len(items):
                item = Utils.NULL_VALUE if items[index] is None else items[index]
                return item if isinstance(item, list) else Utils.create_sequence(item)
            return results
        if input is None:  # only for its errors, as in the reference implementation
            self.eval(predicate, None, environment)
        for index, item in enumerate(items):
            context, scope = item, environment
            if is_stream:
                context, scope = item["@"], self.create_frame_from_tuple(environment, item)
            selected = self.eval(predicate, context, scope)
            results.extend([item] * _selected(index, len(items), selected))
        return results

    def evaluate_group_expression(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - the library's name
        """Group values by key expressions, then evaluate one value expression per group."""
        is_stream = bool(getattr(input, "tuple_stream", False))
        items = input if isinstance(input, list) else [input]
        if not items and not is_stream:
            items = [None]  # an object is made even where there is no context
        groups = self._groups(expr, items, environment, is_stream=is_stream)
        result = {}
        for index, (key, (pair, group)) in enumerate(groups.items()):
            context, scope = _joined(group), environment
            if is_stream:
                bindings = _reduced(group)
                context = bindings.pop("@", None)
                scope = self.create_frame_from_tuple(environment, bindings)
            scope.is_parallel_call = index > 0
            value = self.eval(expr.lhs_object[pair][1], context, scope)
            if value is not None:
                result[key] = value
        return result

    def _groups(self, expr: Any, items: Any, environment: Any, *, is_stream: bool) -> dict[str, tuple[int, list[Any]]]:
        groups: dict[str, tuple[int, list[Any]]] = {}
        for item in items:
            scope = self.create_frame_from_tuple(environment, item) if is_stream else environment
            for index, pair in enumerate(expr.lhs_object):
                key = self.eval(pair[0], item["@"] if is_stream else item, scope)
                if key is None:
                    continue
                if not isinstance(key, str):
                    raise JException("T1003", expr.position, key)
                known, group = groups.setdefault(key, (index, []))
                if known != index:
                    raise JException("D1009", expr.position, key)
                group.append(item)
        return groups

    def evaluate_binary(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - the library's name
        """Evaluate binary operators; ``and`` and ``or`` skip unneeded right operands."""
        if expr.value not in ("and", "or"):
            return super().evaluate_binary(expr, input, environment)
        left = truth(self.eval(expr.lhs, input, environment))
        if bool(left) == (expr.value == "or"):
            return bool(left)
        return bool(truth(self.eval(expr.rhs, input, environment)))

    def evaluate_unary(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - the library's name
        """Evaluate negations, array constructors and object constructors."""
        if expr.value == "{":
            return self.evaluate_group_expression(expr, input, environment)
        if expr.value == "-":
            value = self.eval(expr.expression, input, environment)
            if value is not None and not Utils.is_numeric(value):
                raise JException("D1002", expr.position, expr.value, value)
            return None if value is None else -value + 0
        result = Utils.JList()
        for index, item in enumerate(expr.expressions):
            environment.is_parallel_call = index > 0
            value = self.eval(item, input, environment)
            if isinstance(value, list) and str(item.value) != "[":
                extend(result, value)
            elif value is not None:
                result.append(value)
        result.cons = bool(expr.consarray)
        return result

    def evaluate_name(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002, ARG002 - the library's
        """Return an object's named field, searching arrays recursively."""
        return lookup(input, str(expr.value))

    def evaluate_wildcard(self, expr: Any, input: Any) -> Any:  # noqa: A002, ARG002 - the library's
        """Return object or array values, flattening arrays."""
        if getattr(input, "outer_wrapper", False) and input:
            input = input[0]  # noqa: A001 - the library's name
        results = Utils.create_sequence()
        for value in input.values() if isinstance(input, dict) else input if isinstance(input, list) else ():
            if isinstance(value, list):
                flatten(value, results)
                results.sequence = False  # as by $append
            else:
                results.append(value)
        return results

    def evaluate_descendants(self, expr: Any, input: Any) -> Any:  # noqa: A002 - the library's name
        """Collect descendant values, counting work."""
        spend_tree(input)
        return super().evaluate_descendants(expr, input)

    def evaluate_numeric_expression(self, lhs: Any, rhs: Any, op: Any) -> Any:
        """Compute doubles, keeping fractions of remainders; results include infinity, NaN."""
        if not (Utils.is_numeric(lhs) and Utils.is_numeric(rhs)):
            return super().evaluate_numeric_expression(lhs, rhs, op)
        result = _ARITHMETIC[op](float(lhs), float(rhs))
        return Utils.convert_number(result) if math.isfinite(result) else result

    def evaluate_equality_expression(self, lhs: Any, rhs: Any, op: Any) -> Any:
        """Compare contents."""
        if lhs is None or rhs is None:
            return False
        return is_equal(lhs, rhs) == (op == "=")

    def evaluate_comparison_expression(self, lhs: Any, rhs: Any, op: Any) -> Any:
        """Compare numbers, or texts by their UTF-16 code units."""
        for side in (lhs, rhs):
            if not (side is None or isinstance(side, str) or is_number(side)):
                raise JException("T2010", 0, op, side)
        if lhs is None or rhs is None:
            return None
        if isinstance(lhs, str) != isinstance(rhs, str):
            raise JException("T2009", 0, lhs, rhs, op)
        return compare(_COMPARISONS[op], lhs, rhs)

    def evaluate_includes_expression(self, lhs: Any, rhs: Any) -> Any:
        """Search among values; arrays and objects are equal only to themselves."""
        if lhs is None or rhs is None:
            return False
        return is_among(lhs, rhs if isinstance(rhs, list) else [rhs])

    def evaluate_condition(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - the library's name
        """Evaluate one of two branches."""
        if truth(self.eval(expr.condition, input, environment)):
            return self.eval(expr.then, input, environment)
        return None if expr._else is None else self.eval(expr._else, input, environment)  # noqa: SLF001 - the library's

    def evaluate_string_concat(self, lhs: Any, rhs: Any) -> str:
        """Convert operands like ``$string``."""
        return (to_string(lhs) or "") + (to_string(rhs) or "")

    def evaluate_range_expression(self, lhs: Any, rhs: Any) -> Any:
        """Raise an error for ranges larger than the sandbox's memory; the library's own limit is too high."""
        for side, code in ((lhs, "T2003"), (rhs, "T2004")):
            if side is not None and not (is_number(side) and math.isfinite(side) and side == int(side)):
                raise JException(code, -1, side)
        if lhs is None or rhs is None or lhs > rhs:
            return None
        size = int(rhs) - int(lhs) + 1
        if size > MAX_ITEMS:
            raise JException(_RANGE_TOO_LONG, -1, size)
        current().charge_range(size)
        return Utils.create_sequence_from_iter(range(int(lhs), int(rhs) + 1))

    def evaluate_apply_expression(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - the library's name
        """Apply functions with ``~>``; null is their context value, as in JSONata 2.0.6."""
        if expr.rhs.type == "function":
            return super().evaluate_apply_expression(expr, input, environment)
        value, function = (self.eval(side, input, environment) for side in (expr.lhs, expr.rhs))
        if not self.is_function_like(function):
            raise JException("T2006", expr.position, function)
        if self.is_function_like(value):
            chain = self.eval(Jsonata.chain_ast(), None, environment)
            return self.apply(chain, [value, function], Utils.NULL_VALUE, environment)
        return self.apply(function, [value], Utils.NULL_VALUE, environment)

    def evaluate_sort_expression(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - the library's name
        """Sort `input`; each of its values gives each key once."""
        is_stream = bool(getattr(input, "tuple_stream", False))
        entries = [_SortEntry(self, expr, environment, item, is_stream=is_stream) for item in input]
        if len(entries) < 2:  # noqa: PLR2004 - nothing to compare
            return input
        current().spend(VISIT * len(entries) * len(entries).bit_length())
        ordered = merge_sort(entries, lambda one, other: one.compare(other) > 0)
        return Utils.JList(entry.item for entry in ordered)

    def evaluate_transform_expression(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002, ARG002 - the library's
        """Return a function that copies and changes values of a limited size."""
        return Jsonata.JFunction(_Transformer(self, expr, environment), "<(oa):o>")

    def partial_apply_native_function(self, native: Any, args: Any) -> Any:
        """Count parser work before partial application."""
        current().spend(PARSE)
        return super().partial_apply_native_function(native, args)

    def apply_inner(self, proc: Any, args: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - the library's name
        """Raise an error for values that are not functions; the library would first print them, so data in logs."""
        if not (Utils.is_function(proc) or Functions.is_lambda(proc) or Functions.is_regex(proc)):
            raise JException(_NO_FUNCTION, -1)
        return super().apply_inner(proc, args, input, environment)


class _Sized:
    """Generated values, with known count."""

    def __init__(self, size: int, values: Iterable[Any]) -> None:
        self._size, self._values = size, values

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Any:
        return iter(self._values)


class _SortEntry:
    """Sortable value, with lazily evaluated sort keys."""

    def __init__(self, engine: Interpreter, expr: Any, environment: Any, item: Any, *, is_stream: bool) -> None:
        self.item = item
        self._engine, self._expr, self._environment, self._is_stream = engine, expr, environment, is_stream
        self._keys: dict[int, Any] = {}

    def key(self, index: int) -> Any:
        if index not in self._keys:
            context, scope = self.item, self._environment
            if self._is_stream:
                context, scope = self.item["@"], self._engine.create_frame_from_tuple(scope, self.item)
            self._keys[index] = self._engine.eval(self._expr.terms[index].expression, context, scope)
        return self._keys[index]

    def compare(self, other: "_SortEntry") -> int:
        """Return negative if this value sorts first, positive if it sorts last."""
        for index, term in enumerate(self._expr.terms):
            one, two = self.key(index), other.key(index)
            if one is None or two is None:  # undefined comes last, also in a descending order
                order = (one is None) - (two is None)
            else:
                self._check(one, two)
                order = compare(operator.gt, one, two) - compare(operator.lt, one, two)
                order = -order if term.descending else order
            if order:
                return order
        return 0

    def _check(self, one: Any, two: Any) -> None:
        if not all(isinstance(key, str) or is_number(key) for key in (one, two)):
            raise JException("T2008", self._expr.position, one, two)
        if isinstance(one, str) != isinstance(two, str):
            raise JException("T2007", self._expr.position, one, two)


class _Transformer(Jsonata.Transformer):  # type: ignore[misc] # the library has no types
    """Transform function, for values of limited size."""

    def call(self, input: Any, args: Any) -> Any:  # noqa: A002, ARG002 - the library's name
        """Return a copy with updated fields in selected objects."""
        result = clone(args[0])
        if result is None:
            return None
        selected = self._jsonata.eval(self._expr.pattern, result, self._environment)
        for each in selected if isinstance(selected, list) else [] if selected is None else [selected]:
            self._change(each)
        return result

    def _change(self, value: Any) -> None:
        update = self._jsonata.eval(self._expr.update, value, self._environment)
        if update is not None and not isinstance(update, dict):
            raise JException("T2011", self._expr.update.position, update)
        if update and not isinstance(value, dict | list):
            raise Failure("T2011", "The transform expression selects a value that is no object, and has no fields")
        names = None
        if self._expr.delete is not None:
            names = self._jsonata.eval(self._expr.delete, value, self._environment)
            names = [names] if isinstance(names, str) else names
            if names is not None and not Utils.is_array_of_strings(names):
                raise JException("T2012", self._expr.delete.position, names)
        if isinstance(value, dict):  # an array has no fields that its JSON shows
            value.update(update or {})
            for name in names or ():
                value.pop(name, None)


def extend(result: list[Any], items: Any, work: int = COPY) -> None:
    """Append `items`, count work, check size."""
    check_size(len(result) + len(items), MAX_ITEMS, "items")
    current().spend(work * len(items))
    result.extend(items)


def _selected(index: int, size: int, selector: Any) -> int:
    """Return how often filters select item `index`."""
    if Utils.is_numeric(selector):
        place = math.floor(selector)
        return int((place if place >= 0 else size + place) == index)
    if isinstance(selector, list) and is_array_of_numbers(selector):
        return count_index(index, size, selector)
    return bool(truth(selector))


def _joined(group: list[Any]) -> Any:
    """Join group values like ``$append``: undefined, one value, or an array."""
    values = [value for value in group if value is not None]
    if len(values) < 2:  # noqa: PLR2004 - nothing to join
        return values[0] if values else None
    result = Utils.JList()
    for value in values:
        extend(result, value if isinstance(value, list) else [value])
    return result


def _reduced(tuples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one tuple for a group, joining variable values."""
    values: dict[str, list[Any]] = {}
    for each in tuples:
        for name, value in each.items():
            values.setdefault(name, []).append(value)
    return {name: _joined(found) for name, found in values.items()}


def _divide(dividend: float, divisor: float) -> float:
    if divisor:
        return dividend / divisor
    # As in JavaScript, the language of the reference implementation; Python would raise ZeroDivisionError.
    return math.copysign(math.inf, dividend) * math.copysign(1, divisor) if dividend else math.nan


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": lambda dividend, divisor: math.fmod(dividend, divisor) if divisor else math.nan,
}
