"""Search for the invocations of an execution, in the logs of all its functions."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from unum_cli.aws.session import Session
from unum_cli.logs.execution_logs import Invocation, LogReader, committing, step_text
from unum_cli.logs.insights import Console
from unum_cli.logs.log_groups import log_groups
from unum_client.client import Client
from unum_client.descriptions import Step
from unum_client.reading.stored_steps import start_record
from unum_runtime import errors
from unum_runtime.wire.call_errors import call_errors


class LogsUnavailable(errors.UnumError):
    """AWS refused to show a log or a function's configuration."""


@contextmanager
def reading_logs() -> Iterator[None]:
    """Convert errors of AWS, which may come with every line that is read.

    Raises:
        LogsUnavailable: AWS refused a request.
    """
    try:
        yield
    except call_errors() as error:
        raise LogsUnavailable(str(error)) from error


@dataclass(kw_only=True)
class LogSearch:
    """Search in the logs of a deployed workflow.

    Attributes:
        client: client of the workflow.
        functions: boto3 client of AWS Lambda.
        reader: reads of CloudWatch Logs.
    """

    client: Client
    functions: Any
    reader: LogReader
    _groups: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def console(self) -> Console | None:
        """AWS's console of the region; None in an emulator."""
        return Console.of(self.reader.logs)

    @classmethod
    def by(cls, client: Client, session: Session) -> "LogSearch":
        """Return a search that `session` gives rights and region."""
        aws = session.boto3
        return cls(client=client, functions=aws.client("lambda"), reader=LogReader(aws.client("logs")))

    def invocations(self, name: str, only: str | None = None) -> Iterator[Invocation]:
        """Yield the invocations of an execution: those with commits, then those of attempts that failed.

        Args:
            name: execution name.
            only: state, with or without the indexes of a branch, as in ``Price[2]``; None for all.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ClientError: the client knows no start alias, and no commit says where the execution began.
        """
        steps = [*self.client.steps(name)]
        wanted = [step for step in steps if only in (None, step.state, step_text(step))]
        state = None if only is None else only.partition("[")[0]
        yield from self._found(name, steps, wanted, {} if state is None else {"state": state})

    def of_step(self, step: Step) -> Iterator[Invocation]:
        """Yield the invocations of one step's attempts; the errors are those of `invocations`."""
        invocation = step.checkpoint.name
        name = invocation.execution.name
        yield from self._found(name, self.client.steps(name), [step], {"invocation": str(invocation)})

    def _found(
        self, name: str, steps: Iterable[Step], wanted: Iterable[Step], said: Mapping[str, str]
    ) -> Iterator[Invocation]:
        execution = start_record(self.client.store, self.client.workflow, name).name.execution
        groups = self._groups_of(steps)
        known = committing(wanted, self.client.definition(name), groups)
        yield from known
        committed = {each.request_id for each in known}
        for each in self.reader.mentioning(execution, groups.values(), said):
            if each.request_id not in committed:
                yield each

    def _groups_of(self, steps: Iterable[Step]) -> Mapping[str, str]:
        """Return the log groups of the versions on which the execution began, and was redriven."""
        starts = {step.checkpoint.began.address for step in steps if step.checkpoint.began is not None}
        starts = starts or ({self.client.start_alias} if self.client.start_alias else set())
        if not starts:
            raise errors.ClientError(
                "start_alias: expected the ARN of the start alias, got None; or name the workflow's stack"
            )
        for start in starts - self._groups.keys():
            self._groups[start] = log_groups(self.functions, start, self.client.workflow)
        return {key: group for start in starts for key, group in self._groups[start].items()}
