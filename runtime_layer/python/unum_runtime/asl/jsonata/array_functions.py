"""JSONata functions for arrays and objects, in near linear time. Undefined arguments arrive as None."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from unum_runtime.asl.jsonata.equality import contents, needs_sort_key, sort_key, spend_sorting, truth
from unum_runtime.asl.jsonata.evaluation_limits import COPY, VISIT, current, spend_tree
from unum_runtime.asl.jsonata.library import Functions, JException, Utils

_SEVERAL = 2


def merge_sort(items: list[Any], swaps: Callable[[Any, Any], bool]) -> list[Any]:
    """Return sorted items, with the comparisons of the reference implementation in its order.

    Args:
        items: items to sort.
        swaps: True if its first argument belongs after the second; it may contradict itself.
    """
    if len(items) < _SEVERAL:
        return items
    middle = len(items) // 2
    left, right = merge_sort(items[:middle], swaps), merge_sort(items[middle:], swaps)
    merged: list[Any] = []
    one = other = 0
    while one < len(left) and other < len(right):
        if swaps(left[one], right[other]):
            merged.append(right[other])
            other += 1
        else:
            merged.append(left[one])
            one += 1
    return merged + left[one:] + right[other:]


def sort(items: list[Any] | None, comparator: Any) -> list[Any] | None:
    """Implement ``$sort``."""
    if items is None or len(items) < _SEVERAL:
        return items
    if comparator is not None:
        return merge_sort(list(items), lambda one, other: _swaps(comparator, one, other))
    is_texts = all(isinstance(item, str) for item in items)
    if not (is_texts or all(map(Utils.is_numeric, items))):
        raise JException("D3070", -1)
    spend_sorting(current(), items)
    return sorted(items, key=sort_key if is_texts and any(map(needs_sort_key, items)) else None)


def _swaps(comparator: Any, one: Any, other: Any) -> bool:
    current().spend(VISIT)
    answer = Functions.func_apply(comparator, [one, other])
    # As JavaScript, in which empty arrays and objects are true.
    return answer is not Utils.NULL_VALUE and (isinstance(answer, list | dict) or bool(answer and answer == answer))  # noqa: PLR0124 - NaN


def distinct(items: Any) -> Any:
    """Implement ``$distinct``: the first of all values with equal contents."""
    if not isinstance(items, list) or len(items) < _SEVERAL:
        return items
    found: dict[Any, Any] = {}
    for item in items:
        found.setdefault(contents(item), item)
    results = Utils.create_sequence() if Utils.is_sequence(items) else []
    results.extend(found.values())
    return results


def type_name(value: Any) -> str | None:
    """Implement ``$type``.

    Raises:
        JException: the number is not finite.
    """
    if isinstance(value, float) and not Utils.is_numeric(value):
        return "number"  # NaN
    name: str | None = "function" if _is_function(value) else Functions.type(value)
    return name


def boolean(value: Any) -> bool | None:
    """Implement ``$boolean``; function arguments count false."""
    return False if _is_function(value) else truth(value)


def negation(value: Any) -> bool | None:
    """Implement ``$not``."""
    return None if value is None else not boolean(value)


def _is_function(value: Any) -> bool:
    return bool(Utils.is_function(value) or Functions.is_lambda(value) or Functions.is_regex(value))


def select(items: list[Any] | None, predicate: Any) -> Any:
    """Implement ``$filter``."""
    if items is None:
        return None
    return Utils.create_sequence_from_iter(item for _, item in _selected(enumerate(items), predicate, items))


def single(items: list[Any] | None, predicate: Any) -> Any:
    """Implement ``$single``."""
    if items is None:
        return None
    found: list[Any] = []
    for _, item in enumerate(items) if predicate is None else _selected(enumerate(items), predicate, items):
        found.append(item)
        if len(found) == _SEVERAL:
            raise JException("D3138", -1)
    if not found:
        raise JException("D3139", -1)
    return found[0]


def sift(value: Mapping[str, Any] | None, predicate: Any) -> dict[str, Any] | None:
    """Implement ``$sift``; an object without fields is undefined."""
    return None if value is None else dict(_selected(value.items(), predicate, value)) or None


def _selected(pairs: Any, predicate: Any, whole: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in pairs:
        if truth(Functions.func_apply(predicate, Functions.hof_func_args(predicate, value, key, whole))):
            yield key, value


def merge(objects: list[Mapping[str, Any]] | None) -> dict[str, Any] | None:
    """Implement ``$merge``."""
    if objects is None:
        return None
    merged: dict[str, Any] = {}
    for each in objects:
        current().spend(COPY * len(each))
        merged.update(each)
    return merged


def clone(value: Any) -> Any:
    """Implement ``$clone``; functions become empty texts."""
    if value is None:
        return None
    spend_tree(value)
    return _clone(value)


def _clone(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _clone(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_clone(inner) for inner in value]
    return "" if _is_function(value) else value
