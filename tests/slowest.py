# ruff: noqa: T201 - a command prints
"""Print the tests that use most processor time: `python -m tests.slowest [--number 50] [pytest's arguments]`.

Fails if a unit test uses more than `MOST_S`, and has no mark `slow` with the reason. Counts a test's set-up and
tear-down, and processes that it started and waited for. Load does not change the figures much, as it would change
durations. As a pytest plugin (`-p tests.slowest`), appends a line for each test to the file that `UNUM_TEST_TIMES`
names.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

TIMES = "UNUM_TEST_TIMES"
MOST_S = 2.0
"""Processor time of a unit test that needs no reason, in seconds."""
REASON = "  # "
UNIT = ("-n", "2", "--dist", "loadscope", "-q", "-m", "not e2e and not packaging and not long", "tests")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note how much processor time a test uses."""
    before = _processor_s()
    try:
        return (yield)
    finally:
        with Path(os.environ[TIMES]).open("a", encoding="utf-8") as times:
            marks = "".join(f"{REASON}{mark.args[0]}" for mark in item.iter_markers("slow"))
            times.write(f"{_processor_s() - before:.3f} {item.nodeid}{marks}\n")


def _processor_s() -> float:
    used = (resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def table(lines: list[str], number: int) -> str:
    """Return the `number` slowest tests with the seconds of each, and the sum of all."""
    tests = sorted(((float(line.partition(" ")[0]), line.partition(" ")[2]) for line in lines), reverse=True)
    rows = [f"{seconds:7.2f}  {test}" for seconds, test in tests[:number]]
    return "\n".join([*rows, f"{sum(seconds for seconds, _ in tests):7.2f}  all {len(tests)}"])


def unexplained(lines: list[str]) -> list[str]:
    """Return the unit tests above `MOST_S` that have no reason."""
    tests = (line.partition(" ")[::2] for line in lines)
    return [test for s, test in tests if float(s) > MOST_S and test.startswith("tests/unit/") and REASON not in test]


def main() -> int:
    """Run the tests, print the table, and return pytest's exit code, or 1 if a unit test is slow without a reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.slowest", description=__doc__)
    parser.add_argument("--number", type=int, default=50, help="rows of the table")
    options, arguments = parser.parse_known_args()
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as times:
        command = [sys.executable, "-m", "pytest", "-p", "tests.slowest", *(arguments or UNIT)]
        code = subprocess.run(command, check=False, env={**os.environ, TIMES: times.name}).returncode  # noqa: S603 - ours
        lines = times.read().splitlines()
    print(table(lines, options.number))
    for test in unexplained(lines):
        print(f"{test}: expected at most {MOST_S} s, or `@pytest.mark.slow` with the reason")
    return code or int(bool(unexplained(lines)))


if __name__ == "__main__":
    raise SystemExit(main())
