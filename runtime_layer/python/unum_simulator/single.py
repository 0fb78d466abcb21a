"""Test one state alone, with the semantics, names and checks of mocked results of Step Functions' TestState API.

Each field is evaluated alone, in order, so the visit of a state cannot reuse `advance`, which evaluates all fields of a
state at once. Unknown fields of an input pass, as on AWS.

Source: AWS Step Functions API Reference, "TestState", "MockInput" and "TestStateConfiguration".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from io import BytesIO
from itertools import islice
from typing import Any, TypeAlias
from uuid import uuid4

from unum_runtime.asl import recovery
from unum_runtime.asl.deployed_workflow import with_numbers
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.item_sources import read_value
from unum_runtime.asl.languages import program
from unum_runtime.asl.places import element, member
from unum_runtime.asl.program import Program, StateOutput
from unum_runtime.asl.states_errors import excerpt
from unum_runtime.clock import SkippingClock, SystemClock
from unum_runtime.cold_start import records
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import (
    DATA_SET_TASKS,
    READ_ITEMS,
    Choice,
    Fail,
    FanOut,
    Form,
    Json,
    Language,
    Map,
    Pass,
    Pattern,
    State,
    Task,
    Wait,
    Work,
)
from unum_runtime.protocol.delivery.run_task import call_user_code, event_of, shape_result
from unum_runtime.protocol.planning.advance import exceeded, too_many_failed
from unum_runtime.protocol.planning.evaluation import INPUT, EvaluationContext
from unum_runtime.protocol.planning.retry import Retry, recover
from unum_runtime.protocol.runtime import Call, JobPending, Runtime
from unum_simulator.local import Function, Queue
from unum_simulator.memory_store import MemoryStore
from unum_simulator.stand_ins.called_handlers import handler_names, run_handler
from unum_simulator.stand_ins.lambda_context import LambdaContext

_Done: TypeAlias = tuple[StateOutput, str | None] | Failure
"""What a state is left with, and the state after it; or its failure."""


class Level(StrEnum):
    """Level of detail of a test's result."""

    INFO = "INFO"
    """Result only."""

    DEBUG = "DEBUG"
    """Also data after each field, and the handling of a failure."""

    TRACE = "TRACE"
    """As DEBUG; Step Functions adds the HTTP request and response of a Task that makes one."""


class Validation(StrEnum):
    """Strictness of comparing a mocked result with the service's API."""

    STRICT = "STRICT"
    """Required fields must exist, and every field must have the API's type."""

    PRESENT = "PRESENT"
    """Existing fields must have the API's type."""

    NONE = "NONE"
    """No comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mock:
    """Mocked outcome of a Task, Map or Parallel.

    Attributes:
        result: result in Step Functions' shape; for ``lambda:invoke`` the whole answer, not only ``Payload``.
        error: error name of a failure; None for a success.
        cause: cause of the failure.
        field_validation_mode: strictness of comparing the result with the service's API.
    """

    result: Json = None
    error: str | None = None
    cause: str | None = None
    field_validation_mode: Validation = Validation.STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Surroundings of the state.

    Attributes:
        variables: visible variables, by name without ``$``.
        context: whole context object; None for that of a new execution.
        mock: mocked outcome; required for Map and Parallel, and for ``.sync``, ``.waitForTaskToken`` and activities
            without a handler under the Task's name; allowed for every Task.
        functions: handlers for Tasks without a mock, as for `LocalWorkflow`.
        retrier_retry_count: earlier uses of the retrier for the error.
        error_caused_by_state: state inside a Map or Parallel that the mock's error comes from.
        map_iteration_failure_count: number of failed branches of a Map.
        map_item_reader_data: content of the object that a Map's ``ItemReader`` reads.
    """

    variables: Mapping[str, Json] = field(default_factory=dict)
    context: Mapping[str, Json] | None = None
    mock: Mock | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    retrier_retry_count: int = 0
    error_caused_by_state: str | None = None
    map_iteration_failure_count: int = 0
    map_item_reader_data: str | None = None


_KINDS: Mapping[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "character": (str,),
    "boolean": (bool,),
    "timestamp": (str, int, float),
    **dict.fromkeys(("integer", "long", "float", "double"), (int, float)),
}
"""What JSON has for the types of a service's model."""


def check_result(task: Task, result: Json, validation: Validation) -> None:
    """Raise ValueError unless the service of `task` could answer `result`.

    Results of Lambda functions, of jobs and of task tokens have no model, so they pass.

    Raises:
        ValueError: the result does not fit the model; the text names every place.
        ImportError: botocore, which has the API models, is not installed.
    """
    resource = "lambda:invoke" if task.form is Form.INVOKE else task.resource
    has_model = resource is not None and not resource.startswith("arn:") and resource not in DATA_SET_TASKS
    if validation is Validation.NONE or task.pattern is not Pattern.RESPONSE or not has_model:
        return
    shape = _answer(str(resource))
    faults = [] if shape is None else list(_faults(result, shape, "$", strict=validation is Validation.STRICT))
    if faults:
        remedy = "mend the mock, or choose the field validation mode NONE"
        raise ValueError(f"mock.result: no result of {resource}: {'; '.join(faults)}; {remedy}")


def _answer(resource: str) -> Any:
    """Return the response shape of `resource`, a ``botocore.model.Shape``; None without a model."""
    from unum_runtime.features.services.boto_clients import Clients  # noqa: PLC0415 - needs botocore, and few mocks do
    from unum_runtime.features.services.operation import parse  # noqa: PLC0415 - beside the other

    called = parse(resource)
    if not called.service:
        return None
    client = Clients(options={"region_name": "us-east-1"}).client(called.service)  # asked for its model alone
    return client.meta.service_model.operation_model(called.operation).output_shape


def _faults(value: Json, shape: Any, place: str, *, strict: bool) -> Iterator[str]:
    if not _fits(value, shape):
        yield f"{place}: expected a value of type {shape.type_name}, got {excerpt(value)}"
    elif shape.type_name == "structure":
        yield from _structure_faults(value, shape, place, strict=strict)
    elif shape.type_name == "list":
        for index, item in enumerate(value):
            yield from _faults(item, shape.member, element(place, index), strict=strict)
    elif shape.type_name == "map":
        for key, item in value.items():
            yield from _faults(item, shape.value, member(place, key), strict=strict)


def _structure_faults(value: dict[str, Json], shape: Any, place: str, *, strict: bool) -> Iterator[str]:
    from unum_runtime.features.services.spelling import capitalize, fold_name  # noqa: PLC0415 - as above

    fields = {fold_name(name): (name, item) for name, item in value.items()}
    for name, inner in shape.members.items():
        if fold_name(name) in fields:
            spelled, item = fields[fold_name(name)]
            yield from _faults(item, inner, member(place, spelled), strict=strict)
        elif strict and name in shape.required_members:
            yield f"{place}: the required field {capitalize(name)!r} is missing"


def _fits(value: Json, shape: Any) -> bool:
    """Return True if `value` has the type of `shape`, members ignored; binary data and documents may be anything."""
    kinds = None if getattr(shape, "is_document_type", False) else _KINDS.get(shape.type_name)
    if kinds is None:
        return True
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


@records.dataclass(frozen=True)
class Staged(EvaluationContext):
    """Evaluation context with a given context object.

    Attributes:
        context: the context object.
    """

    context: Mapping[str, Json] = records.field(default_factory=dict)

    def context_of(
        self,
        state: str,
        *,
        retries: tuple[int, ...] | None = None,
        now_ms: int | None = None,
        token: str = "",
        part: str = "",
    ) -> ExpressionContext:
        """See `EvaluationContext.context_of`."""
        own = super().context_of(state, retries=retries, now_ms=now_ms, token=token, part=part)
        return replace(own, context_object=self.context)


@dataclass
class Visit:
    """One visit of a state.

    Attributes:
        workflow: the workflow.
        state: the state.
        value: its input.
        given: its surroundings.
        evaluation: evaluation context of entering it.
        seen: ``inspectionData`` of TestState.
    """

    workflow: Workflow
    state: State
    value: Json
    given: Given
    evaluation: EvaluationContext
    seen: dict[str, Json] = field(default_factory=dict)

    def end(self) -> dict[str, Json]:
        """Return the result in the shape of TestState."""
        self.seen["input"] = self.value
        try:
            found = self._done()
        except StatesError as failed:
            found = Failure(failed.error, failed.cause)
        return self._recovered(found) if isinstance(found, Failure) else self._ended("SUCCEEDED", *found)

    def _ended(self, status: str, left: StateOutput, target: str | None) -> dict[str, Json]:
        if left.variables:
            self.seen["variables"] = dict(left.variables)
        named = {} if target is None else {"nextState": self._as_defined(target)}
        return {"status": status, "output": left.value, **named}

    def _done(self) -> _Done:
        match self.state:
            case Fail():
                self._see_arguments("afterInputPath", "InputPath")  # recorded by AWS, although a Fail has no InputPath
                return Failure(*program(self.state).failure(self.value, self._context_of()))
            case Choice():
                self._see_arguments("afterInputPath", "InputPath")
                target, left = program(self.state).choose(self.value, self._context_of())
                return left, target
            case Task():
                return self._work(self.state)
            case FanOut():
                return self._spread(self.state)
        return self._pass_on()

    def _pass_on(self) -> _Done:
        """Return the exit of a Pass, Wait or Succeed."""
        whole, context = program(self.state), self._context_of()
        if "Result" in self.state.data:  # TestState shows no input of a Pass that does not use it
            self.seen["result"] = self.state.data["Result"]
        else:
            self._see_arguments("afterInputPath", "InputPath")
        if isinstance(self.state, Pass) and "Result" not in self.state.data:
            self._see_arguments("afterParameters", "InputPath", "Parameters")
        if isinstance(self.state, Wait):
            whole.until_ms(self.value, context)  # an invalid time fails
        return self._left(self.state, whole.arguments(self.value, context))

    def _work(self, task: Task) -> _Done:
        whole, context = program(task), self._context_of()
        self._see_arguments("afterInputPath", "InputPath")
        arguments = whole.arguments(self.value, context)
        # The IR keeps the name of the function apart.
        shown = {"FunctionName": task.function, **arguments} if task.form is Form.INVOKE else arguments
        self.seen["afterArguments" if self._is_jsonata else "afterParameters"] = shown
        for limit in ("TimeoutSeconds", "HeartbeatSeconds"):
            whole.number(limit, self.value, context)  # an error in what says so shows
        answer = self._answer(task, arguments)
        if isinstance(answer, Failure):
            return answer
        self.seen["result"] = answer.value
        return self._left(task, answer.value)

    def _answer(self, task: Task, arguments: Json) -> Success | Failure:
        if self.given.mock is not None:
            return _mocked(self.given.mock)
        runtime, call, event = self._runtime(), self._call(task), event_of(task, arguments)
        answer = call_user_code(runtime, call, event)
        while isinstance(answer, JobPending):
            answer = call_user_code(runtime, records.replace(call, job=answer.job), event)
        if isinstance(answer, Success):
            return Success(shape_result(task, answer.value))
        assert isinstance(answer, Failure)  # noqa: S101 - a Task that waits for a token has a mock, or a handler answers
        return answer

    def _spread(self, state: FanOut) -> _Done:
        if isinstance(state, Map):
            size = self._enter_map(state)
        else:
            size = 0
            program(state).arguments(self.value, self._context_of())  # an error in what says so shows
        answer = _mocked(self.given.mock or Mock())
        if isinstance(answer, Failure):
            return answer
        if self._fails(state, size):
            return exceeded()
        writer = self.workflow.states[state.next or ""] if isinstance(state, Map) and state.writes else state
        return self._left(writer, answer.value)

    def _fails(self, state: FanOut, size: int) -> bool:
        if not isinstance(state, Map) or not state.tolerates:
            return False  # the mock alone decides the result of a Map without tolerance
        return too_many_failed(state, self.value, self.given.map_iteration_failure_count, size, self.evaluation)

    def _enter_map(self, state: Map) -> int:
        """Record the input fields of `state`; return the number of branches."""
        whole, context = program(state), self._context_of()
        self._see_arguments("afterInputPath", "InputPath")
        items = self._items(state)  # before the numbers, which AWS does not show if there are no items
        for name in ("MaxConcurrency", "ToleratedFailureCount", "ToleratedFailurePercentage"):
            number, is_default = whole.number(name, self.value, context), name == "MaxConcurrency" and state.is_paced
            if number is not None or name == "MaxConcurrency":
                self.seen[name[0].lower() + name[1:]] = 0 if number is None or is_default else number
        failed = self.given.map_iteration_failure_count
        if items is not None and failed > len(items):
            raise ValueError(
                f"mapIterationFailureCount: expected at most {len(items)}, the number of items; got {failed}"
            )
        return failed if items is None else len(items)

    def _items(self, state: Map) -> list[Json] | None:
        """Return the branches' inputs; None without data for the ``ItemReader``."""
        if state.reads and self.given.map_item_reader_data is None:
            return None
        read = self._read(state) if state.reads else None
        selecting = ("InputPath", "ItemsPath", "Items")
        if not self._is_jsonata:
            self.seen["afterItemsPath"] = self._only(state, *selecting).items(self.value, self._context_of(), read)
        for name, fields in _OF_ITEMS.items():
            if name in state.data:
                found = self._only(state, *selecting, *fields).items(self.value, self._context_of(), read)
                self.seen[f"after{name}"] = found
        return program(state).items(self.value, self._context_of(), read)

    def _read(self, state: Map) -> Json:
        from unum_runtime.features.data_sets.config import ReaderConfig  # noqa: PLC0415 - few states read
        from unum_runtime.features.data_sets.formats import items  # noqa: PLC0415 - the same

        reader = next(task for task in self.workflow.tasks if task.resource == READ_ITEMS and task.next == state.name)
        config = ReaderConfig.parse(program(reader).arguments(self.value, self._context_of())["ReaderConfig"])
        data = BytesIO((self.given.map_item_reader_data or "").encode())
        try:
            found = islice(items(data, replace(config, format=config.format or "JSON")), config.max_items)
            return read_value((("", item) for item in found), has_sources=False)
        except ValueError as error:
            raise StatesError("States.ItemReaderFailed", str(error)) from error

    def _left(self, state: State, result: Json) -> tuple[StateOutput, str | None]:
        """Return the exit with `result`, after recording the output fields of `state`."""
        whole = program(state)
        if isinstance(state, Pass | Work) and not self._is_jsonata:
            fields = ["Result", "ResultSelector"]
            for name in ("afterResultSelector", "afterResultPath"):
                shortened = self._only(state, *fields)
                self.seen[name] = shortened.output(self.value, result, self._context_of(" result")).value
                fields.append("ResultPath")
        return whole.output(self.value, result, self._context_of(" result")), state.next

    def _recovered(self, failure: Failure) -> dict[str, Json]:
        """Return the result for `failure`, by retriers and catchers."""
        said = {"error": failure.error, "cause": failure.cause}
        shown = {name: text for name, text in said.items() if text is not None}
        if not isinstance(self.state, Work):
            return {"status": "FAILED", **shown}
        rules = enumerate(self.state.retry)
        retrier = next((index for index, rule in rules if recovery.matches(rule.errors, failure.error)), None)
        counts = tuple(self.given.retrier_retry_count * (index == retrier) for index in range(len(self.state.retry)))
        now_ms = self.evaluation.entered_ms
        found = recover(self.state, failure, self.value, self.evaluation, retries=counts, now_ms=now_ms)
        details = {} if retrier is None else {"retryIndex": retrier}
        if isinstance(found, Retry):
            self.seen["errorDetails"] = {**details, "retryBackoffIntervalSeconds": (found.due_ms - now_ms) // 1000}
            return {"status": "RETRIABLE", **shown}
        if isinstance(found.outcome, Success):
            self.seen["errorDetails"] = {
                **details,
                "catchIndex": recovery.find_catcher(self.state.catch, failure.error),
            }
            left = StateOutput(found.outcome.value, found.continuation.variables)
            return {**self._ended("CAUGHT_ERROR", left, found.continuation.goes_to), **shown}
        if details:
            self.seen["errorDetails"] = details
        return {"status": "FAILED", **shown}

    def _see_arguments(self, name: str, *fields: str) -> None:
        if not self._is_jsonata:
            self.seen[name] = self._only(self.state, *fields).arguments(self.value, self._context_of())

    def _only(self, state: State, *fields: str) -> Program:
        """Return the program of `state`, reduced to `fields`."""
        return program(replace(state, data={name: state.data[name] for name in fields if name in state.data}))

    def _context_of(self, part: str = "") -> ExpressionContext:
        """Return a new context each time, so that random numbers are equal for every field."""
        return self.evaluation.context_of(self.state.name, part=part)

    @property
    def _is_jsonata(self) -> bool:
        return self.state.language is Language.JSONATA

    def _as_defined(self, target: str) -> str:
        """Return the definition's name for `target`, which may be the hidden Task that reads a Map's items."""
        state = self.workflow.states[target]
        return state.next or target if isinstance(state, Task) and state.resource == READ_ITEMS else target

    def _runtime(self) -> Runtime:
        clock, functions = SkippingClock(), self.given.functions
        return Runtime(
            workflow=self.workflow,
            store=MemoryStore(),
            invoker=Queue(clock),
            clock=clock,
            call=lambda own, event: run_handler(self.workflow.task(own.state), functions, event, LambdaContext(own)),
            hosts=frozenset(),
            routes={},
        )

    def _call(self, task: Task) -> Call:
        name = self.evaluation.execution.name
        return Call(
            name, name, task.name, task.function, idempotency_key=name, resource=task.resource, pattern=task.pattern
        )


_OF_ITEMS = {"ItemSelector": ("ItemSelector",), "ItemBatcher": ("ItemSelector", "ItemBatcher")}


def _mocked(mock: Mock) -> Success | Failure:
    return Success(mock.result) if mock.error is None else Failure(mock.error, mock.cause)


NOTHING = Given()


def test_state(
    workflow: Workflow,
    state: str,
    value: Json,
    *,
    given: Given = NOTHING,  # noqa: PT028 - no test, but called as in AWS
    level: Level = Level.INFO,  # noqa: PT028 - the same
) -> dict[str, Json]:
    """Return the result of `state` for the input `value`, computed by the deployed workflow's code.

    Args:
        workflow: the compiled workflow.
        state: name of one of its states.
        value: the state's input.
        given: mock, context and variables around the state.
        level: amount of inspection data.

    Returns:
        Under the names that TestState gives them, as JSON values and not as texts: ``status``, which is ``SUCCEEDED``,
        ``FAILED``, ``RETRIABLE`` or ``CAUGHT_ERROR``; where there is any, ``output``, ``nextState``, ``error`` and
        ``cause``; from `Level.DEBUG` on ``inspectionData``.

    Raises:
        KeyError: unknown state.
        ValueError: `given` does not fit the state.
        DefinitionError: only the deployment knows a number of a retrier, or the time limit of executions.
    """
    found = workflow.states[state]
    with_numbers(workflow)
    _check(workflow, found, given)
    visit = Visit(workflow, found, value, given, _evaluation(workflow, found, value, given))
    ended = visit.end()
    return ended if level is Level.INFO else {**ended, "inspectionData": visit.seen}


def _check(workflow: Workflow, state: State, given: Given) -> None:
    """Raise ValueError if `given` lacks data for `state`, or has data that `state` cannot use."""
    _check_mock(state, given)
    inside, origin = set(_inside(workflow, state)), given.error_caused_by_state
    if origin is not None and origin not in inside:
        known = ", ".join(sorted(inside)) or "none"
        raise ValueError(
            f"errorCausedByState: expected a state inside {state.name!r}, got {origin!r}; states inside: {known}"
        )
    if given.map_iteration_failure_count and not isinstance(state, Map):
        raise ValueError(f"mapIterationFailureCount: expected a Map, but {state.name!r} is a {_kind(state)}; remove it")


def _check_mock(state: State, given: Given) -> None:
    mock = given.mock
    if mock is None:
        if isinstance(state, Task) and state.name in given.functions:
            return
        if isinstance(state, FanOut) or (isinstance(state, Task) and state.pattern is not Pattern.RESPONSE):
            raise ValueError(f"mock: the {_kind(state)} {state.name!r} needs a mock; give a result or an error")
        if isinstance(state, Task) and given.functions.keys().isdisjoint(handler_names(state)):
            raise ValueError(f"mock: {state.name!r} needs a mock or the function {state.function!r}; give one of them")
    elif not isinstance(state, Work):
        raise ValueError(f"mock: expected a Task, Map or Parallel, but {state.name!r} is a {_kind(state)}; remove it")
    elif mock.error is None and isinstance(state, Task):
        check_result(state, mock.result, mock.field_validation_mode)
    elif mock.error is None and not isinstance(mock.result, list) and not (isinstance(state, Map) and state.writes):
        raise ValueError(f"mock.result: expected an array with the result of each branch of {state.name!r}")


def _inside(workflow: Workflow, state: State) -> Iterator[str]:
    """Yield the names of all states in the branches of `state`, nested ones included."""
    for inner in workflow.states.values():
        if inner.scope == state.name:
            yield inner.name
            yield from _inside(workflow, inner)


def _evaluation(workflow: Workflow, state: State, value: Json, given: Given) -> Staged:
    now_ms = SystemClock().now_ms()
    execution = Execution(str(uuid4()), now_ms)
    token = str(uuid4()) if isinstance(state, Task) and state.pattern is not Pattern.RESPONSE else ""
    own = EvaluationContext(workflow, execution, now_ms, str(execution), {INPUT: value})
    context = dict(own.context_of(state.name, retries=(), token=token).context_object)
    # As in Step Functions, which runs a tested state in an Express Workflow.
    express = workflow.home.arn(f"express:{workflow.name}:{execution.name}")
    context["Execution"] = {**context["Execution"], "Id": express}
    del context["Execution"]["RedriveCount"]
    shown = context if given.context is None else given.context
    return Staged(workflow, execution, now_ms, str(execution), given.variables, context=shown)


def _kind(state: State) -> str:
    return type(state).__name__
