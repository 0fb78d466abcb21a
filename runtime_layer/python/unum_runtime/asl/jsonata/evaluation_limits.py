"""Limits of one evaluation: steps, depth, sizes of values, work, and processor time of regular expressions.

An expression that is wrong, or whose input was made to hurt, ends with an error before it uses up the sandbox. Work is
counted, not timed: each step, and each function of the library for the values that it reads, takes its part of one
budget. So two deliveries of an event agree, whatever the machine does beside them.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

MAX_DEPTH = 500
"""Maximum nesting of evaluations; AWS itself was observed to stop at about 125."""

MAX_STEPS = 500_000
"""Maximum evaluations of one expression. A limit in seconds would let deliveries of one event disagree."""

MAX_ITEMS = 1_000_000
"""Maximum items of an array that an expression makes, and values within a value that it copies, compares or returns.

AWS rejects ranges of ten million items, and runs out of memory with fewer.
"""

MAX_CHARACTERS = 10_000_000
"""Maximum characters of a text that an expression makes; Step Functions allows 256 KiB."""

MAX_WORK = 2**32
"""Work of one evaluation, in characters copied. All of it takes a few seconds of processor time."""

COPY = 64
"""Work for a value that an array, an object or a loop of the interpreter in C copies or compares."""

VISIT = 512
"""Work for a value that a loop in Python reads."""

CALL = 4_096
"""Work for a call of a function, and for a step."""

PARSE = 2**17
"""Work for a partial application of the library's functions, which parses an expression."""

MAX_MATCHES = 200_000
"""Maximum matches of all regular expressions of one evaluation."""

MAX_REGEX_S = 0.5
"""Processor time of all regular expressions of one evaluation, in seconds. Python's backtrack, so their steps cannot be
counted; all others of these limits are equal in every delivery."""

STACK_OVERFLOW = "Stack overflow error: Check for non-terminating recursive function."  # AWS's text

_TIMEOUT = "Expression evaluation timeout: "  # AWS's text
_MADE = 4
"""Work for a character of a text that was made and may stay in memory."""

_LESS_WORK = "build large ones at once, as by $join or $map, and read them once"
_MAKERS = frozenset({"binary", "unary", "function", "apply", "partial", "transform"})
"""Types of nodes that make a value; paths count their own work, and others return a value that was there."""

_Found = TypeVar("_Found")


class Runaway(RuntimeError):
    """Expression beyond a limit."""


class Meter:
    """Use of one evaluation; `enter` and `leave` are called around each step.

    Attributes:
        indexes: what the evaluation has looked up in its last large arrays, by the name of the lookup.
    """

    def __init__(self) -> None:
        self.indexes: dict[str, Any] = {}
        self._steps = self._depth = self._work = self._numbers = self._matches = 0
        self._regex_s = MAX_REGEX_S

    def enter(self, _expr: Any, _input: Any, _environment: Any) -> None:
        """Count a step.

        Raises:
            Runaway: there are too many, or they are nested too deeply.
        """
        self._steps += 1
        self._depth += 1
        self._work += CALL  # at most a part of the budget: steps have a limit of their own
        if self._steps > MAX_STEPS:
            raise Runaway(f"{_TIMEOUT}Check for infinite loop")
        if self._depth > MAX_DEPTH:
            raise Runaway(STACK_OVERFLOW)

    def leave(self, expr: Any, _input: Any, _environment: Any, result: Any) -> None:
        """Count characters or items made by one step.

        Raises:
            Runaway: it is too large, or all work together is.
        """
        self._depth -= 1
        if expr.type in _MAKERS and isinstance(result, str | list):
            self.charge(result)

    def charge(self, made: "str | list[Any]") -> None:
        """Count newly made text or array values.

        Raises:
            Runaway: as in `leave`.
        """
        if isinstance(made, list):
            check_size(len(made), MAX_ITEMS, "items")
            self.spend(COPY * len(made))
        else:
            check_size(len(made), MAX_CHARACTERS, "characters")
            self.spend(_MADE * len(made))

    def spend(self, work: int) -> None:
        """Count work.

        Raises:
            Runaway: the evaluation has used up its budget.
        """
        self._work += work
        if self._work > MAX_WORK:
            raise Runaway(f"{_TIMEOUT}too much work on texts and arrays; {_LESS_WORK}")

    def charge_match(self) -> None:
        """Count one regular expression match.

        Raises:
            Runaway: all regular expressions of the evaluation have too many.
        """
        self._matches += 1
        check_size(self._matches, MAX_MATCHES, "matches")

    def charge_range(self, size: int) -> None:
        """Count the numbers of a range, which a few steps could make by the million.

        Raises:
            Runaway: all ranges of the evaluation have too many.
        """
        self._numbers += size
        check_size(self._numbers, 2 * MAX_ITEMS, "numbers in ranges")

    def match(self, search: Callable[[], _Found]) -> _Found:
        """Return the result of `search`, a search with a regular expression.

        Raises:
            Runaway: regular expressions have used up their time.
        """
        begun_s = time.process_time()
        try:
            with _processor_time(self._regex_s):
                return search()
        finally:
            self._regex_s -= time.process_time() - begun_s


_local = threading.local()


@contextmanager
def metered() -> Iterator[Meter]:
    """Provide one evaluation meter, current in this thread."""
    before, _local.meter = getattr(_local, "meter", None), Meter()
    try:
        yield _local.meter
    finally:
        _local.meter = before


def current() -> Meter:
    """Return this thread's current meter."""
    meter: Meter = _local.meter
    return meter


def check_size(size: float, largest: int, unit: str) -> None:
    """Raise Runaway if a value of `size` characters or items is larger than `largest`."""
    if size > largest:
        raise Runaway(f"expected a value of at most {largest} {unit}, got {size:.0f}")


def check_tree(*values: Any) -> int:
    """Return the number of values nested in `values`; raise Runaway if they are over `MAX_ITEMS`.

    Arrays may contain one array many times, so a few steps can make a value that nobody can copy.
    """
    found, todo = 0, [iter(values)]
    while todo:
        for value in todo.pop():
            if isinstance(value, list | dict):
                found += len(value)
                if found > MAX_ITEMS:
                    raise Runaway(f"expected a value of at most {MAX_ITEMS} values, got more")
                inner = value.values() if isinstance(value, dict) else value
                if any(isinstance(each, list | dict) for each in inner):
                    todo.append(iter(inner))
    return found


def spend_tree(value: Any) -> None:
    """Count the work of reading all values nested in `value`; raise Runaway as in `check_tree`."""
    current().spend(VISIT * check_tree(value))


@contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    """Raise Runaway within the block after `seconds` of processor time.

    Only the main thread receives signals; Lambda's runtime client calls handlers in it. Other threads, of tools that
    run locally, and systems without such timers, have no limit.
    """
    if seconds <= 0:
        _end()
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    handler = signal.signal(signal.SIGPROF, _end)
    timer = signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *timer)
        signal.signal(signal.SIGPROF, handler)


def _end(*_: Any) -> NoReturn:
    raise Runaway(f"{_TIMEOUT}regular expressions took more than {MAX_REGEX_S} s of processor time")
