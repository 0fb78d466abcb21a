"""Asynchronous handlers in functions: one loop for each sandbox, and what becomes of coroutines that take too long."""

import asyncio
import contextvars
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from tests.unit.aws.test_task_function import Context, Deploy, deploy, sqs
from unum_runtime import coroutines
from unum_runtime.coroutines import Interruption, finish
from unum_runtime.errors import StatesError
from unum_runtime.functions import task_function
from unum_runtime.functions.runtime_factory import time_limit

__all__ = ["deploy", "sqs"]

TASK = {"Resource": "F"}
LONG_S = 600


@pytest.fixture(autouse=True)
def new_sandbox() -> Iterator[None]:
    coroutines._loops.clear()
    yield
    for place, loop in coroutines._loops.items():
        if place == coroutines._HERE:
            loop.close()
    coroutines._loops.clear()


def failure(deploy: Deploy, code: Any, **task: Any) -> tuple[str | None, Any]:
    ended = deploy(TASK | task, code).run({})
    return ended.error, json.loads(ended.cause or "null") if (ended.cause or "").startswith("{") else ended.cause


def test_coroutine_is_awaited_and_its_result_committed(deploy: Deploy) -> None:
    async def code(event: Any, _context: Any) -> Any:
        await asyncio.sleep(0)
        return {"n": event["n"] + 1}

    assert deploy(TASK, code).run({"n": 1}).output == {"n": 2}


def test_fused_tasks_and_later_deliveries_share_a_loop(deploy: Deploy) -> None:
    async def code(event: Any, _context: Any) -> Any:
        return [*event, id(asyncio.get_running_loop())]

    deployed = deploy(TASK, code, chain="AB", fusion=True)
    first = deployed.run([]).output
    second = task_function.handle([], Context("start-Flow", aws_request_id="other"))
    again = deployed.client.describe(second["execution"]).output
    assert len(first) == len(again) == 2
    assert len({*first, *again}) == 1


def test_exception_of_a_coroutine_is_the_failure_of_the_task(deploy: Deploy) -> None:
    async def inner() -> None:
        raise ValueError("own")

    async def code(_event: Any, _context: Any) -> Any:
        await inner()

    error, cause = failure(deploy, code)
    assert error == "ValueError"
    assert cause["errorMessage"] == "own"
    frames = cause["stackTrace"]
    assert [name for name in ("code", "inner") if any(f"in {name}\n" in frame for frame in frames)] == ["code", "inner"]
    assert len(frames) == 2, "no frames of the loop"


def test_coroutine_that_cancels_itself_fails_its_task(deploy: Deploy) -> None:
    async def code(_event: Any, _context: Any) -> Any:
        raise asyncio.CancelledError("by itself")

    error, cause = failure(deploy, code)
    assert error == "CancelledError"
    assert cause["errorMessage"] == "by itself"


def test_timeout_error_of_user_code_is_its_own(deploy: Deploy) -> None:
    async def code(_event: Any, _context: Any) -> Any:
        await asyncio.wait_for(asyncio.sleep(LONG_S), 0.01)

    error, _ = failure(deploy, code, TimeoutSeconds=60)
    assert error == "TimeoutError"


def test_coroutine_cleans_up_when_its_time_is_over(deploy: Deploy) -> None:
    said = []

    async def code(_event: Any, _context: Any) -> Any:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            await asyncio.sleep(0.01)
            said.append("closed")

    error, _ = failure(deploy, code, TimeoutSeconds=1)
    assert error == "States.Timeout"
    assert said == ["closed"]
    assert not asyncio.all_tasks(coroutines._loops[coroutines._HERE]), "nothing is left for the next delivery"


def test_tasks_below_a_coroutine_end_with_it(deploy: Deploy) -> None:
    ended = []

    async def child(name: str) -> None:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            ended.append(name)

    async def code(_event: Any, _context: Any) -> Any:
        await asyncio.gather(child("a"), child("b"))

    error, _ = failure(deploy, code, TimeoutSeconds=1)
    assert error == "States.Timeout"
    assert sorted(ended) == ["a", "b"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_coroutine_that_blocks_is_interrupted(deploy: Deploy) -> None:
    async def code(_event: Any, _context: Any) -> Any:
        time.sleep(LONG_S)  # noqa: ASYNC251 - what users do

    error, _ = failure(deploy, code, TimeoutSeconds=1)
    assert error == "States.Timeout"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_coroutine_that_refuses_to_end_is_abandoned_with_its_loop() -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(LONG_S)
            except asyncio.CancelledError:
                continue

    with pytest.raises(StatesError, match=r"took longer than 0\.1 s"), time_limit(0.1):
        finish(stubborn())
    assert finish(asyncio.sleep(0, "next")) == "next", "another loop serves the next delivery"


def test_result_after_a_swallowed_cancellation_is_too_late(deploy: Deploy) -> None:
    async def code(_event: Any, _context: Any) -> Any:
        try:
            await asyncio.sleep(LONG_S)
        except asyncio.CancelledError:
            return "late"

    error, _ = failure(deploy, code, TimeoutSeconds=1)
    assert error == "States.Timeout"


def test_direct_call_of_an_async_handler_returns_its_result(deploy: Deploy) -> None:
    async def code(event: Any, _context: Any) -> Any:
        return {"got": event}

    deploy(TASK, code)
    assert task_function.handle({"n": 1}, Context("7")) == {"got": {"n": 1}}


def test_powertools_decorates_an_async_handler(deploy: Deploy) -> None:
    logger = Logger(service="orders")

    @logger.inject_lambda_context
    async def code(event: Any, _context: Any) -> Any:
        await asyncio.sleep(0)
        return event

    class PowertoolsContext(Context):
        function_name, memory_limit_in_mb = "f", 128

    deploy(TASK, code)
    assert task_function.handle({"n": 1}, PowertoolsContext("7")) == {"n": 1}


def test_result_that_cannot_be_awaited_is_returned_as_it_is() -> None:
    value = {"n": 1}
    assert finish(value) is value


def test_context_variables_of_the_caller_are_seen() -> None:
    tenant = contextvars.ContextVar("tenant", default="none")

    async def read() -> str:
        return tenant.get()

    tenant.set("seven")
    assert finish(read()) == "seven"
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(contextvars.copy_context().run, finish, read()).result() == "seven"


def test_coroutines_of_several_threads_share_one_loop() -> None:
    async def where() -> tuple[int, int]:
        await asyncio.sleep(0.01)
        return id(asyncio.get_running_loop()), threading.get_ident()

    with ThreadPoolExecutor(4) as pool:
        places = {*pool.map(lambda _: finish(where()), range(8))}
    assert len(places) == 1
    assert finish(where()) not in places


def test_coroutine_runs_beneath_a_running_loop() -> None:
    async def test_of_a_user() -> Any:
        return finish(asyncio.sleep(0, "inner"))

    assert asyncio.run(test_of_a_user()) == "inner"


def test_coroutine_in_a_thread_is_cancelled_after_its_limit() -> None:
    ended = threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            ended.set()

    with ThreadPoolExecutor(1) as pool, pytest.raises(Interruption):
        pool.submit(finish, work(), 0.05).result()
    assert ended.wait(60)


def test_functions_without_coroutines_never_import_asyncio() -> None:
    code = (
        "import sys\n"
        "from unum_runtime.coroutines import awaiting\n"
        "from unum_runtime.functions.runtime_factory import time_limit\n"
        "with time_limit(5):\n"
        "    assert awaiting(lambda event, context: event)({'n': 1}, None) == {'n': 1}\n"
        "assert 'asyncio' not in sys.modules, 'imported'\n"
    )
    path = next(each for each in sys.path if each.endswith("runtime_layer/python"))
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, check=True)  # noqa: S603 - written here
