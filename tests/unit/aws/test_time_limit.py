"""User code that takes too long."""

import signal
import threading
import time

import pytest

from unum_runtime.errors import StatesError
from unum_runtime.functions.runtime_factory import time_limit


def test_code_in_time_is_left_alone() -> None:
    with time_limit(5):
        done = 1
    assert done == 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_code_that_waits_is_interrupted() -> None:
    begun = time.monotonic()
    with pytest.raises(StatesError, match=r"States.Timeout: took longer than 0.1 s"), time_limit(0.1):
        time.sleep(10)
    assert time.monotonic() - begun < 300


def test_code_that_works_is_interrupted() -> None:
    with pytest.raises(StatesError, match=r"States.Timeout"), time_limit(0.1):
        all(True for _ in iter(int, 1))  # for ever


def test_handlers_of_exceptions_do_not_see_it() -> None:
    with pytest.raises(StatesError, match=r"States.Timeout"), time_limit(0.1):
        _catching()


def _catching() -> None:
    try:
        time.sleep(10)
    except Exception:  # noqa: BLE001 - as user code has it
        pytest.fail("caught")


def test_its_own_errors_pass() -> None:
    with pytest.raises(ValueError, match="own"), time_limit(5):
        raise ValueError("own")
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_the_users_own_handler_is_back_afterwards() -> None:
    previous = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with pytest.raises(StatesError), time_limit(0.05):
            time.sleep(10)
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_without_a_limit_nothing_is_touched() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with time_limit(None):
        assert signal.getsignal(signal.SIGALRM) is before


def test_other_threads_have_no_limit() -> None:
    done = []

    def work() -> None:
        with time_limit(0.01):
            time.sleep(0.05)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]
