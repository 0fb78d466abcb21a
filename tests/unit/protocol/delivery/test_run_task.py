"""Invocations of user code: all that the code is told beside its event, on each try and each look at a job."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import asking
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.job_platform import LOOK_S, SERVICES, Watching, watching
from tests.unit.protocol.map_platform import around, mapped
from tests.unit.protocol.platform import MovableClock, Platform, chain
from unum_compiler import compile_workflow
from unum_compiler.options import FunctionOptions
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import START, Value
from unum_runtime.model.states import Guard, Pattern
from unum_runtime.protocol.delivery.run_task import TaskTry
from unum_runtime.protocol.planning.evaluation import timestamp
from unum_runtime.protocol.runtime import Call, Runtime

NAME = "e:1a3185c5000"


@dataclass
class Recording(Platform):
    """A platform that keeps what user code is told."""

    seen: list[Call] = field(default_factory=list)

    def _call(self, call: Call, event: Any) -> Any:
        self.seen.append(call)
        return super()._call(call, event)


def recording(
    definition: dict[str, Any], options: dict[str, FunctionOptions] | None = None, **functions: Any
) -> Recording:
    return Recording(compile_workflow(definition, name="w", functions=functions, options=options or {}), functions)


def call(step: int, state: str, **more: Any) -> Call:
    name = f"{NAME}#{step}"
    common = {"execution": "e", "invocation": name, "state": state, "function": state, "idempotency_key": f"w/{name}"}
    return Call(**common | more)


def test_a_task_is_told_its_names() -> None:
    platform = recording(chain("A", "F/B"), A=lambda event: event, F=lambda event: event)
    platform.run()
    assert platform.seen == [call(1, "A"), call(2, "B", function="F")]


def test_a_retry_is_the_same_invocation_with_another_number() -> None:
    outcomes = iter((ValueError(), ValueError(), 1))

    def flaky(_event: Any) -> Any:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    fields = {"Retry": [{"ErrorEquals": ["ValueError"], "MaxAttempts": 2}], "TimeoutSeconds": 9}
    platform = recording(chain("A", A=fields), A=flaky)
    platform.options["timer"] = platform
    platform.start()
    for _ in range(2):
        platform.deliver(platform.pass_to_next())
    assert platform.seen == [call(1, "A", attempt=attempt, timeout_s=9) for attempt in range(3)]
    assert platform.steps()[-1].attempt == 2


def test_task_without_checkpoint_shares_its_name_but_no_idempotency_key() -> None:
    uncommitted = FunctionOptions(checkpoint=False)
    platform = recording(chain("A", "B"), {"A": uncommitted}, A=lambda event: event, B=lambda event: event)
    platform.run()
    own = {"invocation": f"{NAME}#1 A", "idempotency_key": f"w/{NAME}#1 A"}
    assert platform.seen == [call(1, "A", **own), call(1, "B")]


@dataclass
class Services(Watching):
    """A service whose calls are kept, in a deployment with start aliases."""

    seen: list[Call] = field(default_factory=list)

    def runtime(self) -> Runtime:
        given = super().runtime()
        return replace(given, routes={**given.routes, START: "own alias", f"{START}other": "alias of another"})

    def _call(self, call: Call, event: Any) -> Any:
        self.seen += [call] if call.function == SERVICES else []
        return super()._call(call, event)


def test_service_knows_its_task_its_job_and_start_aliases_of_workflows() -> None:
    watched = watching()
    platform = Services(watched.workflow, watched.functions)
    platform.options["timer"] = platform
    platform.start()
    platform.pass_time(4 * LOOK_S)
    aliases = {platform.workflow.home.arn("stateMachine:w"): "own alias", "other": "alias of another"}
    more = {"function": SERVICES, "resource": "ecs:runTask", "pattern": Pattern.SYNC, "start_aliases": aliases}
    assert platform.seen == [call(2, "Job", **more), *(call(2, "Job", job=1, **more) for _ in range(3))]


def test_the_output_is_computed_at_the_time_of_the_result() -> None:
    fields = {"QueryLanguage": "JSONata", "Output": "{% [$millis(), $states.context.State.EnteredTime] %}"}
    clock = MovableClock()
    platform = recording(chain("A", A=fields), A=lambda event: clock.pass_seconds(5) or event)
    platform.clock = clock
    begun_ms = platform.clock.ms
    ending = platform.run()
    assert ending is not None
    assert ending.outcome == Success([begun_ms + 5_000, timestamp(begun_ms)])


def test_a_limit_of_a_job_counts_from_its_start_in_another_delivery() -> None:
    platform = watching(over_s=10_000, task={"TimeoutSeconds": 100})
    platform.start()
    platform.pass_time(LOOK_S)
    assert platform.ending() is None
    platform.pass_time(LOOK_S)
    ending = platform.ending()
    assert ending is not None
    assert ending.outcome == Failure("States.Timeout", "state 'Job': took longer than 100 s")


def test_a_limit_may_depend_on_the_time() -> None:
    limit = "{% $millis() - $toMillis($states.context.Execution.StartTime) = 0 ? 9 : 1 %}"
    fields = {"QueryLanguage": "JSONata", "TimeoutSeconds": limit}
    platform = recording(chain("A", A=fields), A=lambda event: event)
    platform.run()
    assert [each.timeout_s for each in platform.seen] == [9]


def test_task_of_the_optimized_form_has_the_result_in_lambdas_answer() -> None:
    definition = chain("A")
    definition["States"]["A"] |= {"Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "A"}}
    given: list[Any] = []

    def run(event: Any) -> int:
        given.append(event)
        return 5

    platform = Platform.of(definition, A=run)
    ending = platform.run("e", {"x": 1})
    assert ending is not None
    assert ending.outcome == Success({"ExecutedVersion": "$LATEST", "Payload": 5, "StatusCode": 200})
    assert given == [{}]  # no payload


def test_a_task_is_told_its_handler_and_no_start_aliases() -> None:
    platform = recording(chain("A"), A=lambda event: event)
    states = {"A": replace(platform.workflow.task("A"), handler="orders.split")}
    platform.workflow = replace(platform.workflow, states=states)
    services = Aliased(platform.workflow, platform.functions)
    services.run()
    assert services.seen == [call(1, "A", handler="orders.split")]


@dataclass
class Aliased(Recording):
    """A function in a deployment with start aliases."""

    def runtime(self) -> Runtime:
        given = super().runtime()
        return replace(given, routes={**given.routes, START: "own alias"})


def test_a_task_that_waits_is_told_its_token() -> None:
    waits = asking()
    platform = Recording(waits.platform.workflow, waits.platform.functions)
    platform.run()
    assert [bool(each.token) for each in platform.seen] == [False, True]
    assert [each.token for each in platform.seen if each.token] == waits.tokens


def test_expressions_see_neither_read_items_nor_results_to_be_written() -> None:
    platform = recording(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.start()
    (event,) = platform.sent
    entered = Value(Success(1), 0, {"v": 1, "$items": [1], "$results": [2]})
    attempt = TaskTry(platform.runtime(), event, platform.workflow.task("B"), entered)
    assert attempt._context_of(0).variables == {"v": 1}


def test_each_branch_draws_random_numbers_of_its_own_in_its_arguments() -> None:
    platform = Platform.of(around(chain("A", A={"Parameters": {"id.$": "States.UUID()"}})), A=lambda event: event["id"])
    ending = platform.run(value=[1, 2, 3])
    assert ending is not None
    assert isinstance(ending.outcome, Success)
    assert len({*ending.outcome.value}) == 3


@pytest.mark.parametrize(("left_out", "results"), [((1, 1), [None, 1, 2, None]), ((0, 2), [0, 1, None, None])])
def test_a_task_is_left_out_of_the_first_and_last_branches(left_out: tuple[int, int], results: list[Any]) -> None:
    platform = Platform.of(mapped("B"), B=lambda event: event)
    states = platform.workflow.states
    task = replace(platform.workflow.task("B"), left_out=left_out)
    platform.workflow = replace(platform.workflow, states={**states, "B": task})
    ending = platform.run(value=[0, 1, 2, 3])
    assert ending is not None
    assert (ending.outcome, platform.calls) == (Success(results), {"B": 2})


def test_a_retry_of_a_task_without_a_token_asks_the_store_nothing() -> None:
    def fail(event: Any) -> Any:
        raise ValueError(event)

    retry = {"Retry": [{"ErrorEquals": ["ValueError"], "MaxAttempts": 2}]}
    platform = Platform.of(chain("A", "B", B=retry), {"B": FunctionOptions(guard=Guard.COMMIT)}, A=str, B=fail)
    platform.start()
    platform.store = store = CountingStore(platform.memory)
    platform.deliver(platform.sent.pop())
    assert (len(platform.waiting), store.calls) == (1, {})
