"""Runs a definition for a judge that knows how it ended in AWS, through all that a deployed workflow runs through.

A judge gives the answers of a case's Tasks as an object with `invoke(function, payload, state)` and
`invoke_service(resource, parameters, state)`, both of which raise an exception with `error` and `cause` where the Task
failed. Waits are skipped.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import boto3
from moto import mock_aws

from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, StatesError
from unum_runtime.features import data_sets as items
from unum_runtime.model.checkpoint import Ending, Success
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.states import READ_ITEMS, WRITE_RESULTS, Form, Json, Task
from unum_simulator.local import Function, LocalWorkflow
from unum_simulator.stand_ins.mock_file import parse_mocks

EXECUTION = "judged"
RECORDED_IN = Home(region="us-east-1", account="111111111111", role_arn="snf_role_arn")
AWS_PAYLOAD_LIMIT = 256 * 1024
"""Of what a state passes on, in bytes; not ours, but the definitions that were recorded ran under it."""


class Unsupported(Exception):
    """The compiler refuses the definition."""


class Answers(Protocol):
    """Recorded answers of a case's Tasks."""

    def invoke(self, resource: str, payload: Json, state: str | None = None) -> Json:
        """Return a Lambda function's recorded result."""
        ...

    def invoke_service(self, resource: str, parameters: Json, state: str | None = None) -> Json:
        """Return another service's recorded answer."""
        ...


def run(
    definition: Json,
    value: Json,
    tasks: Answers,
    case: Mapping[str, Json],
    compatibility: Compatibility = Compatibility.GENEROUS,
) -> dict[str, Json]:
    """Return the end of an execution of `definition` with input `value`, in DescribeExecution's shape.

    Raises:
        Unsupported: the compiler refuses the definition.
    """
    workflow = compiled(definition, compatibility)
    return described(LocalWorkflow(workflow, answering(workflow, tasks, case)).run(EXECUTION, value))


def described(ending: Ending) -> dict[str, Json]:
    """`ending` as a judge compares it."""
    if isinstance(ending.outcome, Success):
        return {"status": ending.status, "output": ending.outcome.value, "error": None, "cause": None}
    return {"status": ending.status, "output": None, "error": ending.outcome.error, "cause": ending.outcome.cause}


def compiled(definition: Json, compatibility: Compatibility = Compatibility.GENEROUS) -> Workflow:
    """The workflow of `definition`, with whatever functions it names.

    Raises:
        Unsupported: the compiler refuses it.
    """
    try:
        workflow = replace(Definition.from_asl(definition), compatibility=compatibility).compile("judged", None)
    except DefinitionError as error:
        raise Unsupported(str(error)) from error
    return replace(workflow, home=RECORDED_IN, payload_limit=AWS_PAYLOAD_LIMIT)


def answering(workflow: Workflow, answers: Answers, case: Mapping[str, Json]) -> dict[str, Function]:
    """Handlers that do what the case says, under the names of the Tasks; the same for every run of one attempt."""
    mocked = _mocked(workflow, case)
    return {task.name: _Answer(task, answers, case, mocked.get(task.name)) for task in workflow.tasks}


@dataclass(frozen=True)
class _Answer:
    task: Task
    answers: Answers
    case: Mapping[str, Json]
    mocked: Function | None
    given: dict[tuple[str, int], Json | StatesError] = field(default_factory=dict)

    def __call__(self, event: Json, context: Any) -> Json:
        attempt = (context.unum.invocation, context.unum.attempt)
        if attempt not in self.given:
            self.given[attempt] = self._ask(event, context)
        found = self.given[attempt]
        if isinstance(found, StatesError):
            raise found
        return copy.deepcopy(found)

    def _ask(self, event: Json, context: Any) -> Json | StatesError:
        try:
            return self._answer(event)
        except LookupError as unknown:
            if self.mocked is None:
                raise
            try:
                return _whole(self.task, self.mocked(event, context))
            except StatesError as thrown:
                thrown.__context__ = unknown
                return thrown
        except Exception as failed:
            error, cause = getattr(failed, "error", None), getattr(failed, "cause", None)
            if error is None:
                raise
            return StatesError(error, cause or "")

    def _answer(self, event: Json) -> Json:
        if self.task.form is not Form.SERVICE:
            return self.answers.invoke(self.task.function, event, self.task.name)
        if self.task.resource == "lambda:invoke":  # of a function that only the input names
            result = self.answers.invoke(event["FunctionName"], event.get("Payload", {}), self.task.name)
            return {"ExecutedVersion": "$LATEST", "Payload": result, "StatusCode": 200}
        if self.task.resource in (READ_ITEMS, WRITE_RESULTS):
            return _of_dataset(self.task, event, self.case["task_stubs"]["s3_objects"] or ())
        return self.answers.invoke_service(self.task.resource or "", event, self.task.name)


def _of_dataset(task: Task, event: Json, stored: Sequence[Mapping[str, Json]]) -> Json:
    """Return the result of a Map over a data set, with the objects `stored` in S3."""
    with mock_aws():
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=RECORDED_IN.region)
        client = session.client("s3")
        for item in stored:
            client.create_bucket(Bucket=item["Bucket"])
            client.put_object(**item)
        if task.resource == READ_ITEMS:
            return items.read(event, client=client)
        if "Parameters" in event:
            client.create_bucket(Bucket=event["Parameters"]["Bucket"])
        return items.write(event, client=client, key=task.name)


def _mocked(workflow: Workflow, case: Mapping[str, Json]) -> Mapping[str, Function]:
    """Handlers of the Tasks that the case's mock configuration answers for."""
    stubs = case["task_stubs"]
    if not stubs["mock_config"]:
        return {}
    return parse_mocks(stubs["mock_config"], workflow.name, stubs["mock_case"]).handlers(workflow)


def _whole(task: Task, answer: Json) -> Json:
    """A mocked answer of Lambda with what its API always adds."""
    return {"ExecutedVersion": "$LATEST", **answer} if task.resource == "lambda:invoke" else answer
