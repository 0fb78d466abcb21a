"""Search for the invocations of an execution, in the logs of all its functions, and addresses of Logs Insights.

AWS does not document the form of an address with a query; the console itself shows it when a query runs. An address of
another form opens the console with an empty query.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from unum_cli.aws.session import Session
from unum_cli.logs.execution_logs import LONGEST, SLACK, Invocation, LogReader, committing, step_text
from unum_client.client import Client
from unum_client.descriptions import Step
from unum_client.reading.stored_steps import start_record
from unum_runtime import errors
from unum_runtime.functions.configuration import services_in
from unum_runtime.wire.call_errors import call_errors

MOST_GROUPS = 50
"""Log groups of one query. Source: Amazon CloudWatch Logs User Guide, "CloudWatch Logs quotas"."""

MOST_REQUESTS = 50
"""Requests that a query names, so that browsers and terminals take its address."""

_ENDPOINT = re.compile(r"https://[^/]*\.(?P<domain>amazonaws\.com(\.cn)?)/?")
_CONSOLES = {"amazonaws.com": "console.aws.amazon.com", "amazonaws.com.cn": "console.amazonaws.cn"}
_US_GOV = "console.amazonaws-us-gov.com"
_PUNCTUATION = str.maketrans({"~": "$257E", "(": "$2528", ")": "$2529", "'": "$2527"})
_PLAIN = re.compile(rb"[^A-Za-z0-9_.-]")


class Console(NamedTuple):
    """AWS's console of one region.

    Attributes:
        host: name of the host.
        region: name of the region.
    """

    host: str
    region: str

    @classmethod
    def of(cls, logs: Any) -> "Console | None":
        """Return the console for the boto3 client `logs`; None in an emulator, and without a region."""
        found = getattr(logs, "meta", None)
        region, endpoint = getattr(found, "region_name", None), getattr(found, "endpoint_url", None)
        match = _ENDPOINT.fullmatch(endpoint or "")
        if match is None or not isinstance(region, str):
            return None
        host = _US_GOV if region.startswith("us-gov-") else _CONSOLES[match["domain"]]
        return cls(f"{region}.{host}", region)

    def of_attempt(self, invocation: Invocation) -> str:
        """Return the address of a query for the lines of one attempt."""
        said = f"@message like {_quoted(invocation.request_id)}"
        # A sandbox runs one invocation at a time, and lines of user code may not name theirs.
        stream = f" or @logStream = {_quoted(invocation.log_stream)}" if invocation.steps else ""
        return self._query([invocation.log_group], f"{said}{stream}", invocation.began_at - SLACK, _end(invocation))

    def of_execution(self, name: str, invocations: Iterable[Invocation]) -> str | None:
        """Return the address of a query for the lines of an execution; None without invocations."""
        found = [*invocations]
        if not found:
            return None
        requests = ", ".join(_quoted(each.request_id) for each in found[:MOST_REQUESTS])
        said = f"@requestId in [{requests}] or @message like {_quoted(name)}"
        begin, end = min(each.began_at for each in found) - SLACK, max(map(_end, found))
        return self._query([*dict.fromkeys(each.log_group for each in found)], said, begin, end)

    def _query(self, groups: list[str], said: str, begin: datetime, end: datetime) -> str:
        query = f"fields @timestamp, @message\n| filter {said}\n| sort @timestamp asc\n| limit 1000"
        fields = {
            "end": f"'{_escaped(_text(end))}",
            "start": f"'{_escaped(_text(begin))}",
            "timeType": "'ABSOLUTE",
            "tz": "'UTC",
            "editorString": f"'{_escaped(query)}",
            "source": f"({''.join(f'~{chr(39)}{_escaped(group)}' for group in groups[:MOST_GROUPS])})",
        }
        detail = f"~({'~'.join(f'{name}~{value}' for name, value in fields.items())})".translate(_PUNCTUATION)
        home = f"https://{self.host}/cloudwatch/home?region={self.region}"
        return f"{home}#logsV2:logs-insights$3FqueryDetail$3D{detail}"


def _end(invocation: Invocation) -> datetime:
    """Return a time after the last line of `invocation`."""
    if invocation.steps:
        return invocation.steps[-1].committed_at + SLACK
    return invocation.began_at + 2 * LONGEST + SLACK


def _text(at: datetime) -> str:
    up = at.astimezone(UTC) + timedelta(microseconds=999)
    return f"{up:%Y-%m-%dT%H:%M:%S}.{up.microsecond // 1000:03}Z"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    return _PLAIN.sub(lambda found: b"*%02x" % found[0][0], text.encode()).decode()


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


FUNCTION = ":function:"
"""Part of every ARN of a Lambda function."""


def log_groups(functions: Any, start: str, workflow: str) -> Mapping[str, str]:
    """Return the names of the log groups by key of the function, for one version of a workflow.

    Each function's environment has the version ARNs of those that come after it, so the execution's first function
    leads to all others of the same version, in whichever stacks and accounts they are.

    Args:
        functions: boto3 client of AWS Lambda.
        start: ARN of the version or alias in which executions start.
        workflow: name of the workflow.

    Raises:
        ClientError: AWS Lambda refused to describe a function; a function that is gone is left out.
    """
    groups: dict[str, str] = {}
    waiting, seen = [start], {start}
    while waiting:
        found = _configuration(functions, waiting.pop())
        service = services_in(found.get("Environment", {}).get("Variables", {})).get(workflow)
        if service is None:
            continue
        groups |= dict.fromkeys(service.hosts, _group(found))
        following = {arn for arn in service.routes.values() if FUNCTION in arn} - seen
        waiting += following
        seen |= following
    return groups


def _configuration(functions: Any, arn: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = functions.get_function_configuration(FunctionName=arn)
    except functions.exceptions.ResourceNotFoundException:
        return {}
    return found


def _group(configuration: Mapping[str, Any]) -> str:
    """Return the log group: the configured one, or that which Lambda creates.

    Source: AWS Lambda Developer Guide, "Configuring CloudWatch log groups".
    """
    configured: str | None = configuration.get("LoggingConfig", {}).get("LogGroup")
    return configured or f"/aws/lambda/{configuration['FunctionName']}"
