from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.client.run_alias import RunAlias
from unum_client import Client
from unum_client.polling import Waiter
from unum_compiler import compile_workflow
from unum_simulator.local import LocalWorkflow

ALIAS = "arn:aws:lambda:us-east-1:000000000000:function:entry:start-w"


@dataclass
class PassingTime:
    """A time that passes when somebody sleeps; `then` may make something happen meanwhile."""

    now_s: float = 0
    pauses: list[float] = field(default_factory=list)
    then: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.pauses.append(seconds)
        self.then()

    @property
    def waiter(self) -> Waiter:
        return Waiter(now_s=lambda: self.now_s, sleep=self.sleep)


@dataclass(frozen=True)
class Deployment:
    """A workflow in memory and a client of it."""

    local: LocalWorkflow
    alias: RunAlias
    time: PassingTime
    client: Client


@pytest.fixture
def deploy() -> Callable[..., Deployment]:
    """Makes a deployment of (definition, handlers by function key)."""

    def deploy_workflow(definition: Any, **functions: Any) -> Deployment:
        workflow = compile_workflow(definition, name="w", functions=functions)
        local = LocalWorkflow(workflow, functions)
        alias, time = RunAlias(local), PassingTime()
        client = Client(store=local.store, workflow="w", starts=alias.starts, start_alias=ALIAS, waiter=time.waiter)
        return Deployment(local, alias, time, client)

    return deploy_workflow
