"""Sweeps by the control function."""

import json

import pytest

from tests.unit.aws.control_platform import NUDGING, SWEEPS, Context, Deployed, at, forget, swept
from unum_runtime.errors import (
    ExecutionDoesNotExist,
)
from unum_runtime.functions.operations import control_requests, execution_versions
from unum_runtime.model.naming import Execution


def test_a_sweep_finds_what_stands_still(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    deployed.begun()
    assert swept(deployed.functions, NUDGING) == {"looked_at": 1, "silent": 1, "is_done": True}
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
    (reply,) = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if line["message"] == "silent"]
    assert (reply["execution"], reply["state"], reply["nudged"], reply["ExecutionsSilent"]) == ("e", "B", True, 1)


def test_retention_of_an_execution_is_that_of_its_first_version(deployed: Deployed) -> None:
    deployed.begun()
    deployed.functions.services[at("A", 1)]["retention_s"] = 99_999
    deployed.functions.deploy(2, "old")
    forget()
    here = execution_versions.deployed_runtime(Context(SWEEPS, "2"))
    assert control_requests._retention_s(here, Execution("e", 0)) == 99_999
    deployed.started("young")
    assert control_requests._retention_s(here, Execution("young", 0)) == here.retention_s
    with pytest.raises(ExecutionDoesNotExist):
        control_requests._retention_s(here, Execution("gone", 0))


def test_a_sweep_goes_on_in_another_delivery(deployed: Deployed) -> None:
    deployed.started("e")
    deployed.started("f")
    deployed.functions.remaining_ms = 30_000
    assert not swept(deployed.functions, NUDGING)["is_done"]
    (_, first), (address, rest) = deployed.functions.sent()
    assert address == SWEEPS
    assert swept(deployed.functions, rest) == {"looked_at": 1, "silent": 1, "is_done": True}
    ((_, second),) = deployed.functions.sent()
    assert {first["execution"][0], second["execution"][0]} == {"e", "f"}


def test_a_sweep_plans_by_the_definitions_that_executions_have(deployed: Deployed) -> None:
    deployed.begun()
    deployed.functions.deploy(2, "new")
    assert swept(deployed.functions, NUDGING)["silent"] == 1
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
