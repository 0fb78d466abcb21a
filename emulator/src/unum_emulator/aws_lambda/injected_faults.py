"""Faults on request: processes killed by SIGKILL at one of their requests, and events delivered twice.

A function asks for faults by its tag `FAULTS`, for example ``die=0.05 within=8 doomed=0.01 twice=0.05``. A process
dies right before a request takes effect, or right after it and before the answer: between a commit and the events that
follow from it, in the middle of a fan-out, in user code that calls AWS. So functions die without any code of a test.
"""

import os
import random
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache

from unum_emulator.aws_lambda.function_version import FunctionRef
from unum_emulator.history import History

FAULTS = "emulator:faults"
"""Tag of a function; CloudFormation gives a stack's tags to all its functions."""

_DOOMED_WITHIN = 3
"""Requests within which each attempt of a doomed event dies: every delivery of a workflow makes more."""


@dataclass(frozen=True)
class Faults:
    """Faults of one function.

    Attributes:
        die: share of deliveries that die.
        within: last request at which they die, counted from 1.
        doomed: share of events of which every attempt dies.
        twice: share of asynchronous events that are delivered twice.
        first: share of events of which the first attempt dies, and no other for that reason.
    """

    die: float = 0
    within: int = 8
    doomed: float = 0
    twice: float = 0
    first: float = 0

    @classmethod
    @lru_cache
    def parse(cls, text: str) -> "Faults":
        """Parse a tag.

        Raises:
            ValueError: an unknown fault, or no number.
        """
        given = dict(part.split("=") for part in text.split())
        known = [field.name for field in fields(cls)]
        if not given.keys() <= {*known}:
            raise ValueError(f"tag {FAULTS}: expected some of {known}, got {text!r}")
        within = int(given.pop("within", cls.within))
        return cls(within=within, **{name: float(value) for name, value in given.items()})

    @classmethod
    def of(cls, function: FunctionRef) -> "Faults":
        """Return the faults that a function's tag asks for."""
        return cls.parse((function.base_record().get("tags") or {}).get(FAULTS, ""))


@dataclass
class _Death:
    """Planned end of a delivery: at the request after `left` further ones, before or after its effect."""

    left: int
    is_before: bool
    kill: Callable[[], None]


class FaultInjector:
    """Faults of all functions of an emulator; draws are random, and the history has what was drawn."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._lock = threading.Lock()
        self._deaths: dict[str, _Death] = {}
        self._seen: set[str] = set()
        self._random = random.Random(os.urandom(8))  # noqa: S311 - chance, no secret

    @contextmanager
    def during(self, delivery: str, request_id: str, function: FunctionRef, kill: Callable[[], None]) -> Iterator[None]:
        """Draw whether and where a delivery dies, and plan its death while the block runs."""
        faults = Faults.of(function)
        is_doomed = _draw(request_id) < faults.doomed or self._is_first(request_id, faults)
        if is_doomed or self._random.random() < faults.die:
            within = min(faults.within, _DOOMED_WITHIN) if is_doomed else faults.within
            death = _Death(self._random.randrange(within), self._random.random() < 0.5, kill)  # noqa: PLR2004 - a coin
            with self._lock:
                self._deaths[delivery] = death
        try:
            yield
        finally:
            with self._lock:
                self._deaths.pop(delivery, None)

    def _is_first(self, request_id: str, faults: Faults) -> bool:
        """Return True if this is the first attempt of an event, and is to die."""
        if not faults.first:
            return False
        with self._lock:
            is_first = request_id not in self._seen
            self._seen.add(request_id)
        return is_first and _draw(request_id) < faults.first

    def is_twice(self, function: FunctionRef) -> bool:
        """Return True if an event of `function` is to be delivered twice."""
        return self._random.random() < Faults.of(function).twice

    def arrives(self, delivery: str) -> bool:
        """Count a request of `delivery`; kill its process and return False if the request must have no effect."""
        with self._lock:
            death = self._deaths.get(delivery)
            if death is None:
                return True
            death.left -= 1
            is_now = death.left < 0 and death.is_before
        if is_now:
            self._kill(delivery, death, "dies before a request")
        return not is_now

    def leaves(self, delivery: str) -> None:
        """Kill the process of `delivery` if planned after the effect of this request."""
        with self._lock:
            death = self._deaths.get(delivery)
            is_now = death is not None and death.left < 0
        if death is not None and is_now:
            self._kill(delivery, death, "dies after a request")

    def _kill(self, delivery: str, death: _Death, fault: str) -> None:
        self._history.add("fault", delivery=delivery, fault=fault)
        death.kill()


def _draw(request_id: str) -> float:
    """Return a number from 0 to 1, equal for all attempts of one event."""
    return zlib.crc32(request_id.encode()) / 2**32
