"""Start records are read as start records and nothing else."""

from typing import Any

import pytest

from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.model.checkpoint import (
    TOMBSTONE,
    Began,
    Checkpoint,
    Failure,
    ForkOrigin,
    Item,
    Phase,
    Success,
    read_start_record,
    start_record,
)
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import START_STEP, Execution, Frame, Name

EXECUTION = Execution("e", 5)
RECORD = start_record(EXECUTION, {"n": 1})
FORK = RECORD.saying(
    digest="d", began=Began("arn", {"A": "arn"}), fork=ForkOrigin(Execution("o", 4), "A", 1, 3, Success(2))
)


@pytest.mark.parametrize("record", [RECORD, RECORD.saying(outcome=Failure("E", "c")), RECORD.saying(digest="d"), FORK])
def test_what_a_start_writes_is_read(record: Checkpoint) -> None:
    assert read_start_record("e", stored_item("w", record)) == record


FORGED: dict[str, Item] = {
    "a phase": {"phase": "retried"},
    "another phase": {"phase": "left"},
    "a state": {"state": "Charge"},
    "a catcher's target": {"to": "Charge"},
    "variables": {"variables": '{"approved":true}'},
    "a time to begin at": {"until": 9},
    "uses of retriers": {"retries": "[1]"},
    "an end": {"status": "SUCCEEDED"},
    "another result": {"final_value": "1"},
    "a fan-out": {"opens": '["M",1,0,3]'},
    "versions": {"by": "arn", "routes": "{}"},
    "an input of a fork": {"fork_value": "1"},
    "a tombstone": {TOMBSTONE: 1},
    "a run time": {"ms": 7},
    "an attempt": {"attempt": 1},
    "something new": {"way": "x"},
    "no time": {"at": "soon"},
    "a fork of nothing": {"forking": "[]"},
    "half of a failure": {"error": '"E"', "cause": "no JSON"},
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=[*FORGED])
def test_anything_else_in_a_start_record_is_refused(forged: Item) -> None:
    item = {**stored_item("w", RECORD), **forged}
    if "error" in forged:
        del item["value"]
    with pytest.raises(InconsistentHistory, match="start record of 'e': expected what a start or a fork writes, got"):
        read_start_record("e", item)


def test_the_refusal_names_attribute_and_value() -> None:
    with pytest.raises(InconsistentHistory, match="got phase='retried'; the table was changed"):
        read_start_record("e", {**RECORD.to_item(), "phase": "retried"})


def test_a_fork_s_record_has_no_phase_of_its_own_either() -> None:
    with pytest.raises(InconsistentHistory, match="got state='Charge'"):
        read_start_record("e", {**FORK.to_item(), "state": "Charge"})


def test_an_item_without_an_input_is_no_start_record() -> None:
    item = {name: value for name, value in RECORD.to_item().items() if name != "value"}
    with pytest.raises(InconsistentHistory, match="error"):
        read_start_record("e", item)


def test_a_large_input_needs_its_bucket() -> None:
    item: dict[str, Any] = {**RECORD.to_item(), "value_ref": "w/e/d"}
    del item["value"]
    with pytest.raises(StoreError, match="no bucket is known"):
        read_start_record("e", item)


def test_the_reader_of_checkpoints_refuses_a_start_record() -> None:
    with pytest.raises(InconsistentHistory, match="got the name of a start record"):
        Checkpoint.from_item(Name(EXECUTION, (), START_STEP), RECORD.to_item())


def test_the_first_checkpoint_of_a_branch_is_no_start_record() -> None:
    name = Name(EXECUTION, (Frame("M", 1, 0, 0, 2),), START_STEP)
    checkpoint = RECORD.saying(name=name, state="A", phase=Phase.LEFT, digest="d")
    assert Checkpoint.from_item(name, checkpoint.to_item()) == checkpoint
