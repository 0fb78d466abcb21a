"""ARNs of a workflow and its executions, in the form in which Step Functions names its own."""

import re
from dataclasses import dataclass

from unum_runtime.errors import ClientError, ExecutionDoesNotExist
from unum_runtime.model.ir import Home
from unum_runtime.model.naming import escape

_ARN = re.compile(r"arn:(?P<partition>[^:]+):states:(?P<region>[^:]*):(?P<account>[^:]*):(?P<kind>[^:]+):(?P<rest>.+)")
_ALIAS = re.compile(r"arn:(?P<partition>[^:]+):lambda:(?P<region>[^:]+):(?P<account>[^:]+):function:.+")


MAP_RUN_PARTS = 3
"""Of the ARN of a map run behind its kind: workflow and state, execution, and the run's id."""


class InvalidArn(ClientError):
    """What was given is no ARN of the kind that was asked for."""


class StateMachineDoesNotExist(ClientError):
    """The ARN is of another state machine than the workflow of this client."""


class ResourceNotFound(ClientError):
    """The workflow of this client has no map run of that ARN."""


@dataclass(frozen=True, slots=True)
class Arns:
    """Writes and reads the ARNs of one workflow; its executions see the same in the context object.

    Attributes:
        workflow: its name.
        home: where it runs; None if that is not known.
    """

    workflow: str
    home: Home | None

    @property
    def state_machine(self) -> str:
        """The workflow's own."""
        return self._arn("stateMachine")

    def execution(self, name: str) -> str:
        """That of the execution called `name`."""
        return f"{self._arn('execution')}:{name}"

    def map_run(self, execution: str, state: str, run: str) -> str:
        """That of a run of the Map called `state`, which has the id `run` in the execution called `execution`."""
        return f"{self._arn('mapRun')}/{escape(state)}:{execution}:{run}"

    def execution_of_map_run(self, map_run: str) -> str:
        """The name of the execution that a map run belongs to.

        Raises:
            InvalidArn: `map_run` is not the ARN of one.
            ResourceNotFound: it is of somewhere else.
        """
        match = _match(map_run)
        parts = match["rest"].split(":") if match is not None and match["kind"] == "mapRun" else []
        if match is None or len(parts) != MAP_RUN_PARTS:
            raise InvalidArn(f"mapRunArn: expected {self.map_run('EXECUTION', 'STATE', 'RUN')}, got {map_run!r}")
        if parts[0].partition("/")[0] != self.workflow or not self._is_here(match):
            raise ResourceNotFound(f"mapRunArn: this is a client of {self.state_machine}, got {map_run!r}")
        return parts[1]

    def name_of(self, execution: str) -> str:
        """The name of an execution by its ARN or its name.

        Raises:
            InvalidArn: it is neither.
            ExecutionDoesNotExist: it is an ARN of somewhere else.
        """
        if isinstance(execution, str) and ":" not in execution:
            return execution
        match = _match(execution)
        workflow, _, name = match["rest"].partition(":") if match else ("", "", "")
        if match is None or match["kind"] != "execution" or not name:
            raise InvalidArn(f"executionArn: expected {self.execution('NAME')}, or a name, got {execution!r}")
        if workflow != self.workflow or not self._is_here(match):
            raise ExecutionDoesNotExist(f"executionArn: expected {self.execution('NAME')}, got {execution!r}")
        return name

    def check_state_machine(self, given: str | None) -> None:
        """Make sure that `given`, an ARN or a name, is this workflow.

        Raises:
            InvalidArn: it is neither.
            StateMachineDoesNotExist: it is something else.
        """
        if given is None or given == self.workflow:
            return
        match, is_name = _match(given), isinstance(given, str) and ":" not in given
        if not is_name and (match is None or match["kind"] != "stateMachine"):
            raise InvalidArn(f"stateMachineArn: expected {self.state_machine}, or nothing, got {given!r}")
        if match is None or match["rest"] != self.workflow or not self._is_here(match):
            raise StateMachineDoesNotExist(f"stateMachineArn: this is a client of {self.state_machine}, got {given!r}")

    def _arn(self, kind: str) -> str:
        return (self.home or Home()).arn(f"{kind}:{self.workflow}")

    def _is_here(self, arn: re.Match[str]) -> bool:
        """Whether an ARN is of the region and the account of the workflow, if these are known."""
        here = self.home
        return here is None or (here.partition, here.region, here.account) == arn.group(
            "partition", "region", "account"
        )


def activity_name(activity: object) -> str:
    """The name of an activity by its ARN or its name; which account has it is as much as in a definition.

    Raises:
        InvalidArn: it is neither.
    """
    if isinstance(activity, str) and ":" not in activity:
        return activity
    match = _match(activity)
    if match is None or match["kind"] != "activity":
        expected = "expected arn:PARTITION:states:REGION:ACCOUNT:activity:NAME, or the name"
        raise InvalidArn(f"activityArn: {expected}, got {activity!r}")
    return match["rest"]


def _match(arn: object) -> re.Match[str] | None:
    """The parts of `arn`; None for what is none, be it no text at all."""
    return _ARN.fullmatch(arn) if isinstance(arn, str) else None


def home_of(start_alias: str | None) -> Home | None:
    """Where the workflow with that start alias runs; None if that is not known."""
    match = _ALIAS.fullmatch(start_alias or "")
    return None if match is None else Home(**match.groupdict())
