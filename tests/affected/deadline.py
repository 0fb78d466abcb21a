"""pytest plugin that skips the tests for which no time is left: `-p tests.affected.deadline` with `UNUM_TESTS_END`."""

import os
import time

import pytest

END = "UNUM_TESTS_END"
"""Environment variable with the time in seconds since 1970 after which no test begins; workers inherit it."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skip a test that would begin too late."""
    if time.time() > float(os.environ[END]):
        pytest.skip("no time is left: `make unit` runs all")
