"""Several processes with one container of Cosmos DB: they contend for keys, and die while they run executions."""

import json
import subprocess
import sys
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.contract.contending import MEMBERS
from tests.contract.cosmos_service import CosmosServer
from tests.contract.running import ITEMS

ROOT = Path(__file__).parents[2]
PROCESSES, ROUNDS = 3, 4
EXECUTIONS, DEATHS = 3, 5


def contention(cosmos: CosmosServer, variant: str = "") -> list[tuple[Any, ...]]:
    """Return for each round what each process saw."""
    with cosmos.store() as store, ExitStack() as stack:
        processes = [
            stack.enter_context(_process("contending", cosmos.url, store.container.id, variant, str(me)))
            for me in range(PROCESSES)
        ]
        rounds = []
        for _ in range(ROUNDS):
            for process in processes:
                print(file=process.stdin, flush=True)
            rounds.append(tuple(json.loads(_line(process)) for process in processes))
        for process in processes:
            process.stdin.close()
    return rounds


def check_contention(rounds: list[tuple[Any, ...]]) -> None:
    """Check that one process won each item, lease and part, and that each addition to the set is in the views after."""
    assert len(rounds) == ROUNDS
    for seen in rounds:
        assert len({each["winner"] for each in seen}) == 1
        assert len({each["owner"] for each in seen}) == 1
        won = [me % 2 for me, each in enumerate(seen) if each["is_mine"]]
        assert sorted(won) == [0, 1]
        views = sorted((frozenset(view) for each in seen for view in each["views"]), key=len)
        assert views[-1] == frozenset(range(PROCESSES * MEMBERS))
        assert len({*views}) == PROCESSES * MEMBERS
        assert all(smaller < larger for smaller, larger in pairwise(views))


def executions(cosmos: CosmosServer, variant: str = "", deaths: int = DEATHS) -> list[list[Any]]:
    """Return for each execution the results that its processes returned."""
    with cosmos.store() as store:
        with _process("running", cosmos.url, store.container.id, variant, str(EXECUTIONS), str(deaths)) as process:
            returned = [json.loads(line) for line in process.stdout]
        assert process.returncode == 0
    return returned


def check_executions(executions: list[list[Any]]) -> None:
    """Check that each execution has one result, made from one outcome of each Task."""
    assert len(executions) == EXECUTIONS
    for returned in executions:
        assert len(returned) >= 2
        assert all(each == returned[0] for each in returned)
        branches = returned[0]["of"]
        assert [each["item"] for each in branches] == [*range(ITEMS)]
        assert len({each["a"] for each in branches}) == 1
        assert len({each["b"] for each in branches}) == ITEMS


def test_processes_that_contend_have_one_winner_and_lose_no_addition(cosmos: CosmosServer) -> None:
    check_contention(contention(cosmos))


def test_executions_have_one_result_whichever_process_dies_at_any_request(cosmos: CosmosServer) -> None:
    found = executions(cosmos)
    check_executions(found)
    assert sum(map(len, found)) < EXECUTIONS * 2 * (DEATHS + 1), "processes died"


def test_writes_without_conditions_are_found(cosmos: CosmosServer) -> None:
    with pytest.raises(AssertionError):
        check_contention(contention(cosmos, "LastWins"))
    with pytest.raises(AssertionError):
        check_executions(executions(cosmos, "LastWins", deaths=0))


def _process(module: str, *arguments: str) -> Any:
    return subprocess.Popen(  # noqa: S603 - modules of this folder
        [sys.executable, "-m", f"tests.contract.{module}", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _line(process: Any) -> str:
    return str(process.stdout.readline())
