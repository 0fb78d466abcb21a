"""Pool of sandboxes: warm ones first, few parallel starts, and a bound on processes.

Lambda gives every concurrent invocation its own execution environment and keeps it warm
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html). ministack does the same with processes, without
a bound: 200 asynchronous events start 198 processes with 6 GB.
"""

import queue
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from unum_emulator.aws_lambda.function_version import FunctionVersion
from unum_emulator.aws_lambda.packages import PackageStore, link_managed_runtime
from unum_emulator.aws_lambda.sandbox import Sandbox, SandboxResources
from unum_emulator.process_settings import Settings

# A warm call takes milliseconds, and a cold start some tenths of a second of processor time. So a caller first waits
# for a busy sandbox of its function, for as long as the last start took, within these bounds.
_SIBLING_PATIENCE_S = 0.1
_LONGEST_SIBLING_PATIENCE_S = 1.0
# Interval at which waiting callers check for permission to start a process; a free sandbox wakes them at once.
_POLL_S = 0.05
# After this time a synchronous caller may exceed the bound, because it may hold a sandbox itself (deadlock otherwise).
_CALLER_PATIENCE_S = 1.0

_Slot = queue.SimpleQueue[Sandbox]
"""Channel through which a waiting caller receives a sandbox."""


class SandboxPool:
    """All sandboxes of an emulator."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, deque[_Slot]] = defaultdict(deque)
        self._patience_s = _SIBLING_PATIENCE_S
        self._idle: list[Sandbox] = []  # in order of last use, so the most recent one is last
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
        """Lease a sandbox for one invocation.

        Args:
            function: the function to run.
            patient: the caller may wait without limit, like an event in a queue.
        """
        sandbox = self._take(function, patient=patient) or self._start(function)
        try:
            yield sandbox
        finally:
            self._give_back(sandbox)

    def close(self) -> None:
        """Kill every process, including busy ones."""
        with self._lock:
            self._closed = True
            for sandbox in [*self._idle, *self._busy]:
                sandbox.kill()

    def _take(self, function: FunctionVersion, *, patient: bool) -> Sandbox | None:
        """Return a warm sandbox, or None after reserving a start for the caller."""
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
                if slot not in self._waiting[function.key]:  # received a sandbox between timeout and lock
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
        """Return True and count a start if the caller may start a sandbox."""
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
        """Remove idle sandboxes above the bound, least recently used first, and return them."""
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
                # Also after a failed start, or the bound on parallel starts would shrink with each
                # failure.
                self._starting[function.key] -= 1
                if sandbox:
                    self._busy.add(sandbox)

    def _give_back(self, sandbox: Sandbox) -> None:
        """Give the sandbox to the caller that waits longest for its function, or make it idle."""
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
    """Close sandboxes in the background, without delaying the caller."""
    for sandbox in sandboxes:
        threading.Thread(target=sandbox.close, daemon=True, name="sandbox-close").start()
