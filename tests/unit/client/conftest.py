import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_runtime.client import Client
from unum_runtime.client.polling import Waiter
from unum_runtime.model.envelope import named_start
from unum_runtime.simulator.local import LocalWorkflow

ALIAS = "arn:aws:lambda:us-east-1:000000000000:function:entry:start"


@dataclass
class StartAlias:
    """Where a client's invocations arrive: runs what is started, in this process, as long as it is open."""

    local: LocalWorkflow
    is_open: bool = True
    started: list[str] = field(default_factory=list)

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        for address, payload in events:
            assert address == ALIAS
            name = named_start(json.loads(payload))
            assert name is not None
            self.started.append(name)
            if self.is_open:
                self.local.run(name, "the start record has the input")


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
    alias: StartAlias
    time: PassingTime
    client: Client


@pytest.fixture
def deploy() -> Callable[..., Deployment]:
    """Makes a deployment of (definition, handlers by function key)."""

    def deploy_workflow(definition: Any, **functions: Any) -> Deployment:
        workflow = compile_workflow(definition, name="w", functions=functions)
        local = LocalWorkflow(workflow, functions)
        alias, time = StartAlias(local), PassingTime()
        client = Client(store=local.store, workflow="w", invoker=alias, start_alias=ALIAS, waiter=time.waiter)
        return Deployment(local, alias, time, client)

    return deploy_workflow
