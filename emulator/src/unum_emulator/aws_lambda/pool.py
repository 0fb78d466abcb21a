"""Leases sandboxes: warm ones first, few new ones at a time, and never more processes than the machine bears.

Lambda gives every concurrent invocation an execution environment of its own and keeps it warm
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html). ministack does the same with processes
and without a bound: 200 asynchronous events become 198 processes and 6 GB.
"""

import queue
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from unum_emulator.aws_lambda.function import FunctionVersion
from unum_emulator.aws_lambda.packages import PackageStore, link_managed_runtime
from unum_emulator.aws_lambda.sandbox import Sandbox, SandboxResources
from unum_emulator.settings import Settings

# A warm call takes milliseconds and a cold start some tenths of a second of a processor: it pays to wait for a sibling
# for as long as a start took the last time, within these bounds.
_SIBLING_PATIENCE_S = 0.1
_LONGEST_SIBLING_PATIENCE_S = 1.0
# How often those who wait look whether they may start a process; a warm one is handed to them at once.
_POLL_S = 0.05
# After this time a synchronous caller gets a process beyond the bounds, because it may hold one itself.
_CALLER_PATIENCE_S = 1.0

_Slot = queue.SimpleQueue[Sandbox]
"""Where one who waits is handed a sandbox."""


class SandboxPool:
    """All sandboxes of an emulator."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, deque[_Slot]] = defaultdict(deque)
        self._patience_s = _SIBLING_PATIENCE_S
        self._idle: list[Sandbox] = []  # the one used last stands last
        self._busy: set[Sandbox] = set()
        self._starting: Counter[str] = Counter()
        self._closed = False
        self._resources = SandboxResources(
            root=settings.work / "sandboxes",
            runtime=link_managed_runtime(settings.work / "runtime"),
            packages=PackageStore(settings.work / "packages"),
            endpoint=settings.endpoint,
            spawner=ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner"),
        )

    @contextmanager
    def lease(self, function: FunctionVersion, *, patient: bool) -> Iterator[Sandbox]:
        """Lend a sandbox for one invocation.

        Args:
            function: what it has to run.
            patient: whether the caller can wait for ever, as an event in a queue can.
        """
        sandbox = self._take(function, patient=patient) or self._start(function)
        try:
            yield sandbox
        finally:
            self._give_back(sandbox)

    def close(self) -> None:
        """Kill every process, also those with an invocation in them."""
        with self._lock:
            self._closed = True
            for sandbox in [*self._idle, *self._busy]:
                sandbox.kill()

    def _take(self, function: FunctionVersion, *, patient: bool) -> Sandbox | None:
        """Return a warm sandbox, or None when the caller shall start a new one, which is then accounted for."""
        asked_s = time.monotonic()
        slot: _Slot = queue.SimpleQueue()
        with self._lock:
            if warm := self._lease_warm(function.key):
                return warm
            if self._reserve_start(function.key, waited_s=0, patient=patient):
                return None
            self._waiting[function.key].append(slot)
        while True:
            try:
                return slot.get(timeout=_POLL_S)
            except queue.Empty:
                pass
            with self._lock:
                if slot not in self._waiting[function.key]:  # handed over meanwhile
                    return slot.get()
                if self._reserve_start(function.key, waited_s=time.monotonic() - asked_s, patient=patient):
                    self._waiting[function.key].remove(slot)
                    return None

    def _lease_warm(self, key: str) -> Sandbox | None:
        for sandbox in reversed(self._idle):
            if sandbox.function.key == key and sandbox.alive:
                self._idle.remove(sandbox)
                self._busy.add(sandbox)
                return sandbox
        return None

    def _reserve_start(self, key: str, *, waited_s: float, patient: bool) -> bool:
        """Tell whether the caller shall start a sandbox, and account for it if so."""
        if not self._may_start(key, waited_s=waited_s, patient=patient):
            return False
        self._starting[key] += 1
        _dispose(self._evict_surplus())
        return True

    def _may_start(self, key: str, *, waited_s: float, patient: bool) -> bool:
        if not patient and waited_s > _CALLER_PATIENCE_S:
            return True
        has_sibling = self._starting[key] or any(sandbox.function.key == key for sandbox in self._busy)
        return (
            self._starting.total() < self._settings.max_starting
            and len(self._busy) + self._starting.total() < self._settings.max_sandboxes
            and (waited_s > self._patience_s or not has_sibling)
        )

    def _evict_surplus(self) -> list[Sandbox]:
        """Remove from the idle ones, the longest idle first, what exceeds the bound."""
        total = len(self._idle) + len(self._busy) + self._starting.total()
        count = min(max(total - self._settings.max_sandboxes, 0), len(self._idle))
        evicted, self._idle = self._idle[:count], self._idle[count:]
        return evicted

    def _start(self, function: FunctionVersion) -> Sandbox:
        sandbox = None
        began_s = time.monotonic()
        try:
            sandbox = Sandbox(function, self._resources)
            sandbox.await_init()
            return sandbox
        finally:
            with self._lock:
                self._patience_s = _patience_s(time.monotonic() - began_s)
                self._starting[function.key] -= 1
                if sandbox:
                    self._busy.add(sandbox)

    def _give_back(self, sandbox: Sandbox) -> None:
        """Hand a sandbox to whoever has waited longest for one of this kind; it is idle when nobody has."""
        with self._lock:
            if not sandbox.alive:
                self._busy.discard(sandbox)
                if not self._closed:
                    _dispose([sandbox])
            elif waiting := self._waiting[sandbox.function.key]:
                waiting.popleft().put(sandbox)
            else:
                self._busy.discard(sandbox)
                self._idle.append(sandbox)


def _patience_s(start_s: float) -> float:
    return min(max(start_s, _SIBLING_PATIENCE_S), _LONGEST_SIBLING_PATIENCE_S)


def _dispose(sandboxes: Sequence[Sandbox]) -> None:
    """Close sandboxes in the background; no caller has to wait for it."""
    for sandbox in sandboxes:
        threading.Thread(target=sandbox.close, daemon=True, name="sandbox-close").start()
