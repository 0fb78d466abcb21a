"""Several processes, each with a client of its own, contend for the same documents."""

import json
import subprocess
import sys
import uuid
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.google.firestore_server import FirestoreServer

PROCESSES, KEYS, TURNS = 4, 20, 6
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found(google_firestore: FirestoreServer) -> list[dict[str, Any]]:
    """Return the results of each process."""
    command = [sys.executable, "-m", "tests.google.contender", google_firestore.address, f"contended-{uuid.uuid4()}"]
    path = {"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime_layer' / 'python'}", "PATH": "/usr/bin:/bin"}
    running = [
        subprocess.Popen(  # noqa: S603 - the command is written above
            [*command, str(number), str(KEYS), str(TURNS)],
            env=path,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for number in range(KEYS):
        for each in running:
            assert each.stdout
            assert each.stdout.readline() == "ready\n"
        first = number % PROCESSES  # on a busy machine, the process that begins first may always win
        for each in [*running[first:], *running[:first]]:
            print("go", file=each.stdin, flush=True)
    return [json.loads(each.communicate()[0]) for each in running]


def test_each_item_has_one_creator_whom_all_others_see(found: list[dict[str, Any]]) -> None:
    for number in range(KEYS):
        winners = {each["winners"][number] for each in found}
        assert len(winners) == 1
        assert found[winners.pop()]["won"][number]
    assert sum(sum(each["won"]) for each in found) == KEYS
    assert len([each for each in found if any(each["won"])]) > 1, "the processes contended"


def test_a_lease_has_one_owner_at_a_time(found: list[dict[str, Any]]) -> None:
    held = sorted(tuple(span) for each in found for span in each["held"])
    assert len(held) == PROCESSES * TURNS
    assert all(end <= begin for (_, end), (begin, _) in pairwise(held))


def test_at_least_one_process_sees_each_set_complete(found: list[dict[str, Any]]) -> None:
    for number in range(KEYS):
        views = [each["views"][number] for each in found]
        assert all(member in view for member, view in enumerate(views))
        assert [*range(PROCESSES)] in views


def test_each_part_of_an_item_has_one_writer(found: list[dict[str, Any]]) -> None:
    for number in range(KEYS):
        assert sum(each["extended"][number] for each in found) == 1
