"""Deletions beside deliveries that run and deliveries that come late, at any store operation of either.

A delivery may begin inside of another one, and a deletion inside of a delivery, or deliveries inside of a deletion: at
any store operation, the other one runs to its end or to such a call of its own. A deletion may be cut off there, too.
After it has ended, and everything was delivered again, nothing is left but marks, and no delivery has failed.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from tests.simulation.definitions import Graph
from tests.simulation.deletions import NAME, Deleting
from tests.simulation.generated_workflows import Moody, by_seed, small_sizes, workflow
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ExecutionDoesNotExist, ExecutionNotDeletable, RefusedDelivery, TimeIsShort
from unum_runtime.functions.operations.failure_function import GivenUp, recover
from unum_runtime.model.checkpoint import Failure, Item, started_execution
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.list_index import PLACE
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.control import operator_requests, sweep
from unum_runtime.protocol.control.deletions import delete, deletion_marks
from unum_runtime.protocol.control.deletions.delete import QUIET_MS
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.start_records import last_item, last_step
from unum_runtime.protocol.planning.existing_start import is_deleted
from unum_runtime.protocol.requests.begin import begin_with
from unum_runtime.store.large_items import LargeItems

MOST_EVENTS = 300
"""Deliveries before and after a deletion of one run: user code may send an execution round in a loop."""


MOST_SWEEPS = 4
"""Sweeps after which a deletion has ended."""


class Fault(AssertionError):
    """Violation in a run; the text has the run's trail."""


@dataclass
class PointStore:
    """Store that runs something before a chosen call of it.

    Attributes:
        inner: the store.
        points: what runs, by the number of calls that are left until then; the innermost user last.
    """

    inner: Any
    points: list[tuple[list[int], Callable[[], None]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        called = getattr(self.inner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            self._reach()
            return called(*arguments, **options)

        return call

    def _reach(self) -> None:
        if self.points:
            left, run = self.points[-1]
            left[0] -= 1
            if left[0] == -1:
                # Calls inside are not calls of who waits here.
                self.points.append(([1 << 60], lambda: None))
                try:
                    run()
                finally:
                    self.points.pop()

    def during(self, work: Callable[[], Any], after_calls: int, run: Callable[[], None]) -> bool:
        """Do `work`, and `run` before its call of this number; return True if it made so many calls."""
        left = [after_calls]
        self.points.append((left, run))
        try:
            work()
        finally:
            self.points.pop()
        return left[0] < 0


@dataclass
class Run(Deleting):
    """One execution that is deleted; notes each failure of a delivery after the deletion has begun."""

    is_deleting: bool = False
    trail: list[str] = field(default_factory=list)
    given: Any = None

    @classmethod
    def of_graph(cls, graph: Graph) -> "Run":
        return cls.of_workflow(graph.workflow(), dict(graph.functions))

    @classmethod
    def of_workflow(cls, workflow: Workflow, functions: dict[str, Any]) -> "Run":
        """Return a platform with `workflow`."""
        made = cls(replace(workflow, name="w"), functions)
        made.items, made.options = PointStore(made.memory), {"own_address": "F:1"}
        made.store = LargeItems(made.items, made.objects, "w", least_bytes=20)
        return made

    @property
    def points(self) -> PointStore:
        """The store's points."""
        assert isinstance(self.items, PointStore)
        return self.items

    def start(self, name: str = NAME, value: Any = None) -> None:
        """Start the execution; keep its input."""
        self.given = value
        self.store = self.store.in_delivery()
        super().start(name, value)

    def start_again(self) -> None:
        """Deliver the start event again; after the deletion has begun, only a refusal may be an error."""
        self.trail.append("start again")
        try:
            begin_with(replace(self.runtime(), store=self.store.in_delivery()), NAME, self.given)
        except RefusedDelivery:
            self.trail.append("  refused")
        except Exception as error:
            raise Fault(f"dead letter: {type(error).__name__}: {error}") from error

    def deliver_one(self, event: Envelope) -> None:
        """Deliver `event`; after the deletion has begun, only a refusal may be an error."""
        self.trail.append(f"deliver {event.name} {event.state}")
        try:
            self.deliver(event)
        except RefusedDelivery:
            self.trail.append("  refused")
        except Exception as error:
            if self.is_deleting:
                raise Fault(f"{type(error).__name__}: {error}") from error
            raise

    def give_up(self, event: Envelope) -> None:
        """Let the intake fail `event`, as after its function has died; an error would become a dead letter."""
        self.trail.append(f"give up {event.name} {event.state}")
        given_up = GivenUp(
            function="F",
            qualifier="1",
            request_id="r",
            event={**event.to_json(), "redelivered": 0},
            failure=Failure("Runtime.ExitError", "{}"),
        )
        try:
            recover(replace(self.runtime(), hosts=frozenset(), call=None), given_up)  # type: ignore[arg-type]
        except RefusedDelivery:
            self.trail.append("  refused")
        except Exception as error:
            raise Fault(f"dead letter: {type(error).__name__}: {error}") from error

    def take(self, pick: Callable[[int], int]) -> Envelope | None:
        """Take one of the events that were sent; else the next one that waits."""
        if self.sent:
            return self.sent.pop(pick(len(self.sent)))
        return self.pass_to_next() if self.waiting else None

    def stop_if_running(self) -> None:
        """Stop the execution unless it has ended."""
        last = last_step(self.store, "w", self.execution())
        if last is None or last.ending is None:
            self.trail.append("stop")
            stop(self.runtime(), self.execution(), Failure("Stop", None))

    def request_deletion(self) -> None:
        """Stop the execution if it runs, and delete it once."""
        with suppress(ExecutionDoesNotExist):
            self.stop_if_running()
        self.is_deleting = True
        self.trail.append("delete")
        with suppress(TimeIsShort):
            delete.delete(self.runtime(), NAME)

    @property
    def has_begun(self) -> bool:
        """True if the deletion has taken the execution's next step."""
        return is_deleted(self._last())

    @property
    def has_ended(self) -> bool:
        """True if no sweep will find the deletion any more."""
        return self.has_begun and PLACE not in self._last()

    def _last(self) -> Item:
        key = start_key("w", NAME)
        return last_item(self.memory, "w", started_execution(NAME, self.memory.read([key])[key]))

    def sweep(self) -> None:
        """Sweep once; nobody requests anything else."""

        def ask(event: Mapping[str, Any]) -> Any:
            self.trail.append(f"{event['control']} by a sweep")
            return operator_requests.answer(self.runtime(), operator_requests.parse(event), None)

        asked = sweep.Sweep(silent_ms=1, nudges=False)
        sweep.sweep(self.runtime(), self.memory, asked, ask, lambda _: self.runtime().retention_s)

    def request_twice(self) -> None:
        """Request a deletion twice at once, like an impatient operator."""
        self.request_deletion()
        self.request_deletion()

    def finish(self, pick: Callable[[int], int]) -> None:
        """Deliver everything, let sweeps end the deletion, deliver everything again, and check what is left."""
        for _ in range(MOST_SWEEPS):
            self._deliver_rest(pick)
            if self.has_ended:
                break
            self.clock.ms += QUIET_MS
            if self.has_begun:
                self.sweep()
            else:
                self.request_deletion()
        else:
            raise Fault("the deletion has not ended")
        for event in [*self.ever]:
            self.deliver_one(event)
            self.give_up(event)
        self.start_again()
        self._deliver_rest(pick)
        self.check()

    def _deliver_rest(self, pick: Callable[[int], int]) -> None:
        for _ in range(MOST_EVENTS):
            event = self.take(pick)
            if event is None:
                return
            self.deliver_one(event)
        raise Fault("the execution goes on after its deletion")

    def _log(self, message: str, /, **fields: Any) -> None:
        self.logged.append((message, fields))

    def check(self) -> None:
        """Raise Fault if anything is left but marks."""
        left = [*self.rest()]
        leases = [key for key in self.memory._leases if self.is_of_execution(key)]
        if left or leases:
            raise Fault(f"left: {left} {leases}")


def prefixes(graph: Graph, collection: Collection = Collection.TTL) -> Iterator[Run]:
    """Yield an execution after each number of deliveries, with its next event in `sent` or `waiting`."""
    for count in range(MOST_EVENTS):
        run = Run.of_graph(graph)
        run.collection = collection
        run.start(NAME, graph.input)
        for _ in range(count):
            event = run.take(lambda _: 0)
            if event is None:
                return
            run.deliver_one(event)
        yield run


def starts_during_deletions(graph: Graph, value: Any) -> int:
    """Deliver the start event again at each call of the deletion; return the number of runs."""
    for calls in range(MOST_EVENTS):
        run = Run.of_graph(graph)
        run.start(NAME, value)
        run.stop_if_running()
        run.is_deleting = True
        with placing_faults(run, f"start at call {calls} of the deletion"):
            reached = run.points.during(run.request_deletion, calls, run.start_again)
            run.finish(first)
        if not reached:
            return calls + 1
    raise AssertionError("the deletion never ended")


def first(_: int) -> int:
    """Pick the first."""
    return 0


def deletions_during_deliveries(graph: Graph, collection: Collection = Collection.TTL) -> int:
    """Delete at each call of each delivery; return the number of runs."""
    runs = 0
    for number, _ in enumerate(prefixes(graph, collection)):
        for calls in range(MOST_EVENTS):
            run = next(run for at, run in enumerate(prefixes(graph, collection)) if at == number)
            event = run.take(first)
            if event is None:
                break
            with placing_faults(run, f"deletion at call {calls} of delivery {number}"):
                reached = run.points.during(partial(run.deliver_one, event), calls, run.request_twice)
                run.finish(first)
            runs += 1
            if not reached:
                break
    return runs


def deliveries_during_deletions(graph: Graph, collection: Collection = Collection.TTL, *, step: int = 1) -> int:
    """Deliver each event that was ever sent at each call of the deletion; return the number of runs."""
    runs = 0
    for number, made in enumerate(prefixes(graph, collection)):
        for which in range(0, len(made.ever), step):
            for calls in range(0, MOST_EVENTS, step):
                run = next(run for at, run in enumerate(prefixes(graph, collection)) if at == number)
                event = run.ever[which]
                with placing_faults(run, f"event {which} at call {calls} of the deletion after {number} deliveries"):
                    run.stop_if_running()
                    run.is_deleting = True
                    reached = run.points.during(run.request_deletion, calls, partial(run.deliver_one, event))
                    run.finish(first)
                runs += 1
                if not reached:
                    break
    return runs


class placing_faults:  # noqa: N801 - reads as what it does
    """Add place and trail of a run to what it finds."""

    def __init__(self, run: Run, place: str) -> None:
        self.run, self.place = run, place

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        """Raise Fault with place and trail."""
        if isinstance(error, Exception):
            trail = "\n".join(self.run.trail[-40:])
            raise Fault(f"{self.place}: {type(error).__name__}: {error}\n{trail}") from error


def random_run(seed: int) -> None:
    """Delete an execution of a generated workflow beside deliveries that begin inside of each other."""
    rng, choose = random.Random(seed), by_seed(seed)  # noqa: S311 - no secret
    with small_sizes(choose), pytest.MonkeyPatch.context() as patch:
        for module in (delete, deletion_marks):
            patch.setattr(module, "SHARD_SIZE", deletion_marks_shard())
        made, moody = workflow(choose), Moody(choose(range(10_000)))
        run = Run.of_workflow(made, {task.function: moody for task in made.tasks})
        _random_run(run, rng, seed)


def deletion_marks_shard() -> int:
    """Return the size of shards of this run."""
    from unum_runtime.model import naming  # noqa: PLC0415 - patched for each run

    return naming.SHARD_SIZE


def _random_run(run: Run, rng: random.Random, seed: int) -> None:
    run.collection = (
        rng.choice([*Collection]) if not any(t.meets_previous for t in run.workflow.tasks) else Collection.TTL
    )
    pick = rng.randrange
    with placing_faults(run, f"seed {seed}"):
        run.start(NAME, [1, 2])
        for _ in range(rng.randrange(25)):
            event = run.take(pick)
            if event is None:
                break
            run.deliver_one(event)
        _nest(run, rng, depth=rng.randrange(1, 4))
        run.finish(pick)


def _nest(run: Run, rng: random.Random, depth: int) -> None:
    """Begin a delivery or a deletion, and something else at one of its calls; the innermost is a deletion."""
    if depth == 0:
        rng.choice([run.request_deletion, run.request_twice])()
        return
    inner = partial(_nest, run, rng, depth - 1)
    event = rng.choice([*run.sent, *run.ever]) if run.sent or run.ever else None
    works: list[Callable[[], None]] = [run.request_deletion]
    if event is not None:
        works += [lambda: run.deliver_one(event)] * 3
    with suppress(ExecutionNotDeletable):
        run.points.during(rng.choice(works), rng.randrange(12), inner)
