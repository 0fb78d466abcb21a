"""Try mutants in forked copies of a pytest process that has collected its tests and imported everything.

A copy puts one mutant in, runs the tests that may notice it, ends at the first failure, and says which test failed.
That takes some hundredths of a second, where a new process would import for seconds.
"""

import gc
import json
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import pytest

from tests.mutation.injection import Places, forget_imports, functions, put_into_functions
from tests.mutation.mutants import Mutant

ALLOWED_MEMORY = 6 * 2**30
TEST_CPU_S = 10
"""Processor time of a test after which it is endless; the longest takes a third of that."""
LEAST_CPU_S = 2
SLOWER = 5
"""A test of known duration is endless after so many times that, and at least `LEAST_CPU_S`."""
FEW_WAITS = 3
"""How often a copy that runs without a pause gives up the processor: at its beginning and its end."""
SILENT_S = 120
"""Time without any use of the processor after which a copy waits for something that does not come."""

PLANTED = (
    *("mistake_is_found", "mistakes_are_found", "mistake_shows", "would_be_noticed", "variants_are_found"),
    *("search_is_noticed", "intake_that_does_nothing_is_noticed", "hole_is_found"),
    *("takes_its_own_definition_is_caught", "what_is_broken_is_caught", "never_renews_is_caught"),
    *("does_not_verify_is_caught", "writes_without_conditions_are_found", "write_without_a_condition_is_found"),
    *("reads_that_are_not_strongly_consistent_are_found", "list_before_the_write_is_found"),
    *("cursor_of_another_request_is_found", "test_the_server_as_published"),
)
"""Parts of names of tests that expect a planted mistake to be found. A mutant beside the mistake may hide it, which
says nothing about the code without it; and a server's own mistake shows in races, by chance."""

PYTEST = (
    *("-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:terminal"),
    "--assert=plain",  # else pytest's own loader imports the runtime, for its plugin, and takes no mutated code
    *("-m", "not e2e and not packaging and not long"),
    *("-o", "timeout=0", "-o", "faulthandler_timeout=0"),  # limits of time would kill mutants on a busy machine
    *("-k", " and ".join(f"not {name}" for name in PLANTED)),
)
"""Options of every run of tests here."""


@dataclass(frozen=True)
class Verdict:
    """Result of a mutant's trial.

    Attributes:
        mutant: name of the mutant.
        fate: "killed", "endless" (killed by time or memory), "survived", "unreached" (no test comes by), or "invalid"
            (no Python).
        by: test that failed, if any.
        tests: how many tests ran.
        seconds: processor time that took.
    """

    mutant: str
    fate: str
    by: str = ""
    tests: int = 0
    seconds: float = 0.0

    @property
    def is_dead(self) -> bool:
        """Return True if a test or a limit ended the mutant."""
        return self.fate in ("killed", "endless")


@dataclass
class Trial:
    """pytest plugin that tries mutants instead of running the collected tests.

    Attributes:
        mutants: mutants to try, in this order.
        choose: returns the ids of the tests to run for a mutant, of those that were collected.
        report: receives each verdict.
        jobs: number of copies at a time.
        end_s: monotonic time after which no further mutant is tried.
        seconds: processor time of tests, as far as it is known.
    """

    mutants: Iterable[Mutant]
    choose: Callable[[Mutant, Mapping[str, pytest.Item]], Sequence[str]]
    report: Callable[[Mutant, Verdict], None]
    jobs: int = 1
    end_s: float = float("inf")
    seconds: Mapping[str, float] = field(default_factory=dict)
    _functions: Places = field(default_factory=dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try all mutants."""
        items = {item.nodeid: item for item in session.items}
        self._functions = functions()
        gc.collect()
        gc.freeze()  # copies share the memory of what they do not write
        waiting = iter(self.mutants)
        with selectors.DefaultSelector() as copies:
            running = sum(self._start_next(waiting, items, copies) for _ in range(self.jobs))
            while running:
                for key, _ in copies.select(timeout=1):
                    copies.unregister(key.fileobj)
                    if not self._start_again(key.data, copies):
                        self.report(key.data.mutant, key.data.verdict)
                        running += self._start_next(waiting, items, copies) - 1
                for key in [*copies.get_map().values()]:
                    key.data.end_if_silent()
        return True

    def _start_next(
        self, waiting: Iterator[Mutant], items: Mapping[str, pytest.Item], copies: selectors.BaseSelector
    ) -> bool:
        """Start a copy for the next mutant that has tests; return False if none is left."""
        for mutant in waiting:
            if time.monotonic() > self.end_s:
                return False
            chosen = [items[name] for name in self.choose(mutant, items)]
            if mutant.code() is None:
                self.report(mutant, Verdict(mutant.name, "invalid"))
            elif not chosen:
                self.report(mutant, Verdict(mutant.name, "unreached"))
            else:
                self._start(_Copy(mutant, chosen), copies)
                return True
        return False

    def _start_again(self, copy: "_Copy", copies: selectors.BaseSelector) -> bool:
        """Start a copy that runs the failed test first; return False if this copy was one, or if no test has failed."""
        again = copy.again()
        if again is not None:
            self._start(again, copies)
        return again is not None

    def _start(self, copy: "_Copy", copies: selectors.BaseSelector) -> None:
        copy.start(self._functions, self.seconds)
        copies.register(copy.pipe, selectors.EVENT_READ, copy)


class _Copy:
    """A forked copy of this process with one mutant.

    Attributes:
        mutant: the mutant.
        items: tests to run, in this order.
        suspect: test that failed in the copy before, and is run first here.
        spent_s: processor time of the copies before.
    """

    def __init__(self, mutant: Mutant, items: Sequence[pytest.Item], suspect: str = "", spent_s: float = 0.0) -> None:
        self.mutant = mutant
        self.items = items
        self.suspect = suspect
        self.spent_s = spent_s

    def start(self, places: Places, seconds: Mapping[str, float]) -> None:
        """Fork, and run the tests."""
        self._worked_s = time.monotonic()
        self._used_s = 0.0
        self.pipe, writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            _run(self.mutant, self.items, places, Witness(writing, seconds))
        os.close(writing)

    @cached_property
    def verdict(self) -> Verdict:
        """Return the copy's verdict; a copy that ended without one had too little time or memory."""
        with os.fdopen(self.pipe) as pipe:
            said = pipe.read()
        _kill(self.process)
        _, _, used = os.wait4(self.process, 0)
        self._waits = used.ru_nvcsw
        seconds = round(self.spent_s + used.ru_utime + used.ru_stime, 2)
        return Verdict(self.mutant.name, **json.loads(said or '{"fate": "endless"}'), seconds=seconds)

    def again(self) -> "_Copy | None":
        """Return a copy that runs the failed test first, without an earlier suspect; None if the verdict is certain.

        A test that waits for a thread, a process or a server may fail once on a busy machine. So a copy that has waited
        kills only by a test that fails twice. One that has not runs the same anywhere.
        """
        failed = [item for item in self.items if item.nodeid == self.verdict.by]
        if not failed or self.verdict.by == self.suspect or self._waits <= FEW_WAITS:
            return None
        others = [item for item in self.items if item.nodeid not in (self.verdict.by, self.suspect)]
        return _Copy(self.mutant, [*failed, *others], self.verdict.by, self.verdict.seconds)

    def end_if_silent(self) -> None:
        """Kill a copy that waits for ever; then its pipe closes. A copy that gets no processor does not wait."""
        used_s, is_waiting = _processor(self.process)
        if used_s != self._used_s or not is_waiting:
            self._used_s, self._worked_s = used_s, time.monotonic()
        elif time.monotonic() > self._worked_s + SILENT_S:
            _kill(self.process)


def _processor(process: int) -> tuple[float, bool]:
    """Return the processor time of a process, and True if it waits for something else; from `/proc`, see proc(5)."""
    state, *fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return float(fields[10]) + float(fields[11]), state != "R"


def _kill(process: int) -> None:
    """End a copy and the processes that its tests have left."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError):
            kill(process, signal.SIGKILL)


def _run(mutant: Mutant, items: Sequence[pytest.Item], places: Places, witness: "Witness") -> NoReturn:
    """Run the tests with the mutant, say what happened, and end."""
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    resource.setrlimit(resource.RLIMIT_AS, (ALLOWED_MEMORY, ALLOWED_MEMORY))
    signal.signal(signal.SIGPROF, lambda *_: os._exit(1))
    code = mutant.code()
    assert code is not None
    try:
        if put_into_functions(mutant, code, places):
            _run_collected(items, witness)
        else:
            forget_imports(mutant, code)
            _run_anew(items, witness)
    except BaseException as error:  # noqa: BLE001 - a mutant that ends pytest itself is dead
        witness.say("killed", type(error).__name__)
    witness.say("survived")


def _run_collected(items: Sequence[pytest.Item], witness: "Witness") -> None:
    items[0].config.pluginmanager.register(witness)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _run_anew(items: Sequence[pytest.Item], witness: "Witness") -> None:
    """Collect and run the tests again, with new imports: those of the likeliest file before others are imported."""
    names = [item.nodeid for item in items]
    file = names[0].partition("::")[0] + "::"
    likely, others = ([name for name in names if name.startswith(file) == is_first] for is_first in (True, False))
    for part in filter(None, (likely, others)):
        code = pytest.main([*PYTEST, "-x", *part], plugins=[witness])
        if code != pytest.ExitCode.OK:
            witness.say("killed", code.name if isinstance(code, pytest.ExitCode) else str(code))


class Witness:
    """pytest plugin that tells of the first failure and ends the process."""

    def __init__(self, pipe: int, seconds: Mapping[str, float]) -> None:
        self._pipe = pipe
        self._seconds = seconds
        self._tests = 0

    def pytest_configure(self, config: pytest.Config) -> None:
        """Shorten what nobody reads: the full text of failures takes four fifths of a killed mutant's time."""
        config.option.tbstyle = "native"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin to count the test's processor time."""
        self._tests += 1
        known_s = self._seconds.get(nodeid)
        signal.setitimer(
            signal.ITIMER_PROF, TEST_CPU_S if known_s is None else min(TEST_CPU_S, max(LEAST_CPU_S, SLOWER * known_s))
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """End at the first failure, before a report is written, which takes a third of a killed mutant's time."""
        is_skipped = call.excinfo and isinstance(call.excinfo.value, pytest.skip.Exception)
        if call.excinfo and not is_skipped and not item.get_closest_marker("xfail"):
            self.say("killed", item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End at the first failure."""
        if report.failed:
            self.say("killed", report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """End if a test cannot be imported."""
        if report.failed:
            self.say("killed", report.nodeid)

    def say(self, fate: str, by: str = "") -> NoReturn:
        """Write the verdict and end the process at once."""
        os.write(self._pipe, json.dumps({"fate": fate, "by": by, "tests": self._tests}).encode())
        os._exit(0)
