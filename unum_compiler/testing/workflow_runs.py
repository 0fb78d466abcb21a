"""Executions in one process, for tests: what ran, how often, what came out, and what it costs."""

import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from unum_compiler.cost.estimate import Receipt, estimate
from unum_compiler.cost.estimate import total as total_of
from unum_compiler.definition import Definition
from unum_runtime.clock import SkippingClock
from unum_runtime.errors import StatesError
from unum_runtime.json_text import parse_foreign, to_readable
from unum_runtime.model.checkpoint import Ending, Failure, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import DATA_SET_TASKS, Json, Pattern
from unum_runtime.protocol.runtime import JobPending
from unum_simulator.faults import Faults
from unum_simulator.local import Function, LocalWorkflow
from unum_simulator.scenario import BEGUN_MS
from unum_simulator.simulation import simulate
from unum_simulator.stand_ins.called_handlers import handler_names, run_handler
from unum_simulator.stand_ins.mock_file import MockedCase, parse_mocks
from unum_simulator.stand_ins.modelled_services import ModelledServices, with_end
from unum_simulator.stand_ins.task_answers import answers


@dataclass
class TaskRun:
    """One attempt of a Task.

    Attributes:
        state: name of the Task.
        attempt: number of earlier attempts of the same invocation, from 0.
        input: event of the handler.
        result: result of the handler, of the last run.
        error: error name; None without an error.
        deliveries: number of times that the handler ran for this attempt; more than 1 only under faults.
    """

    state: str
    attempt: int
    input: Json
    result: Json = None
    error: str | None = None
    deliveries: int = 0


@dataclass
class Recorder:
    """Handlers of one execution, with recorded calls.

    Attributes:
        workflow: the workflow.
        functions: handlers by Task name or function key.
        clock: virtual clock, which handlers find as ``context.clock``; None if contexts have one already.
        runs: the attempts, in the order of their first runs.
    """

    workflow: Workflow
    functions: Mapping[str, Function]
    clock: Any = None
    runs: dict[tuple[str, str, int], TaskRun] = field(default_factory=dict)

    def handlers(self) -> dict[str, Function]:
        """Return a handler for each Task, by name."""
        return {task.name: self._recorded(task.name) for task in self.workflow.tasks}

    def _recorded(self, name: str) -> Function:
        task = self.workflow.task(name)

        def run(event: Json, context: Any) -> Json:
            call = context.unum
            if self.clock is not None:
                context.clock = self.clock
            new = TaskRun(name, call.attempt, copy.deepcopy(event))
            found = self.runs.setdefault((call.invocation, name, call.attempt), new)
            found.deliveries += call.job is None  # polls of a job belong to the run that began it
            try:
                result = run_handler(task, self.functions, event, context)
            except Exception as error:
                found.error = error.error if isinstance(error, StatesError) else type(error).__name__
                raise
            if not isinstance(result, JobPending):
                # What cannot be copied, as an open file, is no JSON: the runtime says so.
                with suppress(Exception):
                    found.result = copy.deepcopy(result)
                found.error = None
            return result

        return run


_Workflow: TypeAlias = Workflow | Definition | Mapping[str, Any] | str | Path

DEFAULT_RUNS = 20
"""Executions under faults, each with other faults at other times."""

_NO_FUNCTIONS: Mapping[str, Function] = {}


@dataclass
class VirtualClock(SkippingClock):
    """Clock that only waits and `sleep` move.

    Attributes:
        ms: time, in milliseconds since 1970.
    """

    ms: int = BEGUN_MS

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return self.ms

    def skip_to(self, ms: int) -> None:
        """Advance to `ms`, unless that is past."""
        self.ms = max(self.ms, ms)

    def sleep(self, seconds: float) -> None:
        """Advance the clock, like code that takes `seconds`."""
        self.ms += round(seconds * 1000)


@dataclass(frozen=True)
class WorkflowRun:
    """An execution that has ended.

    Attributes:
        ending: status and outcome.
        tasks: attempts of Tasks, in the order in which they began.
        waited_s: virtual time from start to end, in seconds: waits, delays of retries, and what mocks slept.
        seed: seed of the faults; None without faults.
        others: under faults, the executions with other seeds.
    """

    ending: Ending
    tasks: tuple[TaskRun, ...]
    waited_s: float
    _estimate: Callable[[], Receipt] = field(repr=False, compare=False)
    seed: int | None = None
    others: "tuple[WorkflowRun, ...]" = ()

    @property
    def status(self) -> str:
        """``SUCCEEDED``, ``FAILED``, ``TIMED_OUT`` or ``ABORTED``."""
        return self.ending.status.value

    @property
    def output(self) -> Json:
        """Output of the execution.

        Raises:
            AssertionError: the execution failed; says with which error.
        """
        outcome = self.ending.outcome
        assert isinstance(outcome, Success), f"the execution failed: {outcome.error}: {outcome.cause}"  # noqa: S101
        return outcome.value

    @property
    def failure(self) -> tuple[str | None, str | None]:
        """Error name and cause.

        Raises:
            AssertionError: the execution succeeded; says with which output.
        """
        outcome = self.ending.outcome
        assert isinstance(outcome, Failure), f"the execution succeeded with {outcome.value!r}"  # noqa: S101
        return outcome.error, outcome.cause

    @property
    def path(self) -> list[str]:
        """Names of the Tasks in the order in which their invocations began, without further attempts."""
        return [task.state for task in self.tasks if task.attempt == 0]

    def of(self, state: str) -> list[TaskRun]:
        """Return attempts of the Task `state`; empty if never run."""
        return [task for task in self.tasks if task.state == state]

    @cached_property
    def receipt(self) -> Receipt:
        """Usage of such an execution without faults, with the bills of a million executions."""
        return self._estimate()

    @property
    def usd_per_million(self) -> float:
        """Price of a million such executions without faults, in US dollars, without the time of user code."""
        return total_of(self.receipt.here())

    def snapshot(self) -> str:
        """Return outcome and Tasks as JSON text, without times and ids, for comparison with a stored text."""
        outcome = self.ending.outcome
        ended = (
            {"output": outcome.value}
            if isinstance(outcome, Success)
            else {"error": outcome.error, "cause": outcome.cause}
        )
        tasks = [
            {"state": task.state, "attempt": task.attempt, "input": task.input}
            | ({"result": task.result} if task.error is None else {"error": task.error})
            for task in self.tasks
        ]
        return to_readable({"status": self.status, **ended, "tasks": tasks}, indent=2)


def run_workflow(  # noqa: PLR0913 - all but the first have defaults
    workflow: _Workflow,
    functions: Mapping[str, Function] = _NO_FUNCTIONS,
    input: Json = None,  # noqa: A002 - boto3 calls it so
    *,
    mocks: str | Path | Mapping[str, Any] | None = None,
    test_case: str | None = None,
    auto_mock: bool = False,
    faults: Faults | None = None,
    runs: int = DEFAULT_RUNS,
    seed: int = 0,
) -> WorkflowRun:
    """Execute a workflow in this process; return its ending and Tasks.

    Args:
        workflow: file or text of a definition as Python objects, `Definition`, or compiled workflow.
        functions: a handler (event, context) per function key, or per Task name, which takes precedence.
        input: input of the execution; with `auto_mock`, None makes a sample.
        mocks: mock configuration of Step Functions Local, or its file; goes before `functions`.
        test_case: test case of the mocks; None for the only one.
        auto_mock: answer with samples where there is neither mock nor handler.
        faults: faults to inject, within the budget of each execution; None for none.
        runs: number of executions under faults.
        seed: seed of the first of them; the others add 1 each.

    Returns:
        The execution; under faults the first one.

    Raises:
        DefinitionError: the definition has problems.
        TypeError: an argument has another kind.
        KeyError: a Task has no answer.
        ValueError: a handler or mock stands for no Task, `runs` is below 1, or the workflow cannot run under faults.
        AssertionError: executions under faults ended differently; names a seed for each ending.
        Violation: the runtime broke one of its guarantees.
    """
    _check_kinds(functions, faults, runs)
    compiled = with_end(_compiled(workflow)) if auto_mock else _compiled(workflow)
    _check_use(functions, compiled)
    mocked = None if mocks is None else _mocked(mocks, compiled, test_case)
    value = ModelledServices(compiled).input() if input is None and auto_mock else input

    made = _Execution(compiled, lambda: answers(compiled, compiled.tasks, functions, mocked, samples=auto_mock), value)
    if faults is None:
        return made.run()
    _check_faults(compiled)
    found = [made.run_under(faults, seed + number) for number in range(runs)]
    _check_one_result(found)
    return replace(found[0], others=tuple(found[1:]))


@dataclass(frozen=True)
class _Execution:
    """Parts of an execution.

    Attributes:
        workflow: the compiled workflow.
        functions: what returns the handlers of one execution.
        value: input.
    """

    workflow: Workflow
    functions: Callable[[], Mapping[str, Function]]
    value: Json

    def run(self) -> WorkflowRun:
        """Execute without faults."""
        clock = VirtualClock()
        recorder = Recorder(self.workflow, self.functions(), clock)
        ending = LocalWorkflow(self.workflow, recorder.handlers(), clock=clock).run("execution", self.value)
        return self._done(ending, recorder, clock.ms)

    def run_under(self, faults: Faults, seed: int) -> WorkflowRun:
        """Execute once under `faults`."""
        recorder = Recorder(self.workflow, self.functions())
        done = simulate(self.workflow, recorder.handlers(), self.value, faults=faults, seed=seed, runs=1)
        return replace(self._done(done.ending, recorder, done.clock.ms), seed=seed)

    def _done(self, ending: Ending, recorder: Recorder, now_ms: int) -> WorkflowRun:
        return WorkflowRun(ending, tuple(recorder.runs.values()), (now_ms - BEGUN_MS) / 1000, self._estimate)

    def _estimate(self) -> Receipt:
        return estimate(self.workflow, functions=self.functions, value=self.value)


def _check_kinds(functions: object, faults: object, runs: object) -> None:
    """Raise for arguments of a wrong kind, before anything runs.

    Raises:
        TypeError: names the argument.
        ValueError: `runs` is no positive number.
    """
    if not isinstance(functions, Mapping):
        raise TypeError(f'functions: expected handlers by key, as {{"Price": price}}, got {functions!r}')
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"functions[{name!r}]: expected a handler (event, context), got {function!r}")
    if faults is not None and not isinstance(faults, Faults):
        raise TypeError(f"faults: expected Faults, as Faults(crashes=2), got {faults!r}")
    if not isinstance(runs, int) or runs < 1:
        raise ValueError(f"runs: expected at least 1, got {runs!r}")


def _check_use(functions: Mapping[str, Function], workflow: Workflow) -> None:
    """Raise ValueError for a handler that stands for no Task: with samples, a misspelled name would go unnoticed."""
    names = dict.fromkeys(name for task in workflow.tasks for name in handler_names(task) if name)
    for name in functions:
        if name not in names:
            known = ", ".join(map(repr, names)) or "none, for the workflow has no Task"
            raise ValueError(f"functions[{name!r}]: expected the name of a Task or the key of its function: {known}")


def _check_faults(workflow: Workflow) -> None:
    """Raise ValueError for Tasks that the simulation of faults does not know."""
    for task in workflow.tasks:
        if task.resource in DATA_SET_TASKS or task.pattern is Pattern.CALLBACK:
            what = "a data set" if task.resource in DATA_SET_TASKS else "a task token"
            raise ValueError(
                f"faults: {task.name!r} waits for {what}, which runs without faults only; leave faults out"
            )


def _check_one_result(found: list[WorkflowRun]) -> None:
    seeds: dict[str, int | None] = {}
    for run in found:
        seeds.setdefault(repr(run.ending), run.seed)
    if len(seeds) > 1:
        endings = "\n".join(f"seed {seed}: {ending}" for ending, seed in seeds.items())
        raise AssertionError(f"{len(found)} executions had {len(seeds)} different endings:\n{endings}")


def _compiled(workflow: _Workflow) -> Workflow:
    match workflow:
        case Workflow():
            return workflow
        case Definition():
            return workflow.compile("workflow", None)
        case Mapping():
            return Definition.from_asl(workflow).compile("workflow", None)
        case str() | Path():
            return Definition.from_asl_file(workflow).compile(Path(workflow).name.partition(".")[0], None)
    raise TypeError(f"workflow: expected a file, a definition or a compiled workflow, got {workflow!r}")


def _mocked(mocks: str | Path | Mapping[str, Any], workflow: Workflow, case: str | None) -> MockedCase:
    document = mocks if isinstance(mocks, Mapping) else parse_foreign(Path(mocks).read_text(encoding="utf-8"))
    return parse_mocks(document, workflow.name, case)
