"""Executions of the chaos workflow, with clients, responders and operators, until each has ended."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from unum_client import Client, Description
from unum_runtime.errors import UnumError
from unum_runtime.model.checkpoint import Status

ANSWER = 7
ITEMS = 8
CLIENTS = 8
AT_ONCE = 40
"""Executions that run at the same time. With more, events wait for processes, and a sweep sends them again."""

_REFUSED = (UnumError, ClientError, BotoCoreError, RuntimeError)

_PLAYED = re.compile(r":function:Chaos-(Workflow|Child)")

KINDS = ("map", "lanes", "parallel", "wait", "callback", "nested", "catch", "chain", "broken", "stopped")


@dataclass(frozen=True)
class Plan:
    """One execution: its kind, and the total that its output must have."""

    name: str
    kind: str
    n: int

    @property
    def input(self) -> dict[str, Any]:
        kind = {"broken": "map", "stopped": "wait"}.get(self.kind, self.kind)
        broken = [3, 5] if self.kind == "broken" else []
        pause_s = 60 if self.kind == "stopped" else 2
        items = [*range(1, ITEMS + 1)]
        return {"kind": kind, "n": self.n, "items": items, "broken": broken, "pause_s": pause_s, "stamp": "none"}

    @property
    def total(self) -> int:
        power = {"map": 2, "broken": 2, "lanes": 4}.get(self.kind)
        if power is not None:
            return sum(item**power for item in range(1, ITEMS + 1))
        return {"callback": ANSWER, "parallel": 2 * self.n**2}.get(self.kind, self.n**2)


@dataclass
class Play:
    """A chaos run.

    Attributes:
        client: client of the workflow.
        session: session that reaches the emulator.
        notes: the table in which user code writes.
        plans: the executions, forks included, by name.
        ended: descriptions of the executions that have ended for good.
        silent_s: silence after which a sweep nudges; by default it waits for an hour.
        sweep_every_s: time between two sweeps; by default an hour, too.
        asked: number of requests of operators that were answered, by kind.
    """

    client: Client
    session: boto3.Session
    notes: Any
    silent_s: int = 30
    sweep_every_s: int = 20
    plans: dict[str, Plan] = field(default_factory=dict)
    ended: dict[str, Description] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    _swept_s: float = 0

    def run(self, number: int, *, prefix: str, timeout_s: float) -> None:
        """Start executions, answer, stop, mend, redrive and fork, and sweep, until all have ended or the time is over.

        Nobody nudges: what stands still is the sweep's to find.
        """
        ahead = [Plan(f"{prefix}-{n:04d}", KINDS[n % len(KINDS)], 2 + n % 5) for n in reversed(range(number))]
        until_s = time.monotonic() + timeout_s
        with ThreadPoolExecutor(CLIENTS) as pool:
            while (ahead or self.running) and time.monotonic() < until_s:
                begun = [ahead.pop() for _ in range(min(len(ahead), AT_ONCE - len(self.running)))]
                self.plans |= {plan.name: plan for plan in begun}
                list(pool.map(self._start, begun))
                list(pool.map(self._look, [self.plans[name] for name in self.running]))
                self._sweep()
                time.sleep(1)

    @property
    def running(self) -> list[str]:
        """Names of the executions that have not ended, or that somebody is going to redrive."""
        return [name for name in self.plans if name not in self.ended]

    @property
    def results(self) -> dict[str, tuple[str, Any]]:
        """Status, and output or error, as clients see them."""
        return {
            name: (str(seen.status), seen.output if seen.status is Status.SUCCEEDED else seen.error)
            for name, seen in self.ended.items()
        }

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong about outputs and ends, from what clients see."""
        for name, seen in self.ended.items():
            plan = self.plans[name]
            if seen.status is Status.SUCCEEDED and seen.output["total"] != plan.total:
                yield f"{name}: expected the total {plan.total}, got {seen.output}"
            if seen.status is Status.FAILED and not str(seen.error).startswith("Runtime."):
                yield f"{name}: expected that Lambda has given up an event, got {seen.error}: {seen.cause}"

    def _start(self, plan: Plan) -> None:
        self._insist(lambda: self.client.start(plan.input, name=plan.name))

    def _look(self, plan: Plan) -> None:
        """Act like an operator on an execution."""
        with suppress(*_REFUSED):
            seen = self.client.describe(plan.name)
            if seen.status is Status.RUNNING:
                self._help(plan)
            elif plan.kind in ("broken", "stopped") and self._redrive(plan, seen):
                return
            else:
                self.ended[plan.name] = seen
                self._fork(plan, seen)

    def _help(self, plan: Plan) -> None:
        if plan.kind == "callback":
            self._answer(plan.name)
        elif plan.kind == "stopped" and not self.asked[f"stop of {plan.name}"]:
            self.client.stop(plan.name, "Enough", "for now")
            self._count("stop", plan)

    def _answer(self, name: str) -> None:
        item = self.notes.get_item(Key={"key": f"token {name}"}, ConsistentRead=True).get("Item")
        if item is not None:
            self.client.send_task_success(item["token"], json.dumps({"n": ANSWER}))

    def _redrive(self, plan: Plan, seen: Description) -> bool:
        """Redrive an execution that is mended, or every second one that was stopped; return True if it runs again."""
        is_kept = plan.kind == "stopped" and plan.n % 2 == 0
        if seen.status is Status.SUCCEEDED or is_kept or self.asked[f"redrive of {plan.name}"] > 1:
            return False
        self.notes.put_item(Item={"key": f"mended {plan.name}"})
        self.client.redrive(plan.name)
        self._count("redrive", plan)
        return True

    def _fork(self, plan: Plan, seen: Description) -> None:
        """Fork every second execution with a Map that has succeeded, once, at the Map or after it."""
        if plan.kind != "map" or seen.status is not Status.SUCCEEDED or plan.name.endswith("-fork") or plan.n % 2:
            return
        node, other = ("Each", "Join")[plan.n // 2 % 2], Plan(f"{plan.name}-fork", "map", plan.n)
        self._insist(lambda: self.client.fork(plan.name, from_node=node, new_name=other.name))
        self.plans[other.name] = other
        self._count("fork", plan)

    def _count(self, request: str, plan: Plan) -> None:
        self.asked[request] += 1
        self.asked[f"{request} of {plan.name}"] += 1

    def _sweep(self) -> None:
        """Send the request of the workflow's own schedule, more often and with less patience than the schedule has."""
        if time.monotonic() - self._swept_s < self.sweep_every_s:
            return
        self._swept_s = time.monotonic()
        for schedule in schedules(self.session):
            request = {**json.loads(schedule["Input"]), "silent_ms": self.silent_s * 1000}
            with suppress(*_REFUSED):
                self.session.client("lambda").invoke(
                    FunctionName=schedule["Arn"], InvocationType="Event", Payload=json.dumps(request)
                )
                self.asked["sweep"] += 1

    def _insist(self, request: Callable[[], object]) -> None:
        """Repeat a request until it is answered: what it asks of may die."""
        while True:
            with suppress(*_REFUSED):
                request()
                return
            time.sleep(0.5)


def schedules(session: boto3.Session) -> Iterable[Mapping[str, Any]]:
    """Yield the targets of the sweeps of the chaos workflows."""
    scheduler = session.client("scheduler")
    for each in scheduler.list_schedules()["Schedules"]:
        target = scheduler.get_schedule(Name=each["Name"], GroupName=each["GroupName"])["Target"]
        if json.loads(target.get("Input", "{}")).get("control") == "sweep" and _PLAYED.search(target["Arn"]):
            yield target
