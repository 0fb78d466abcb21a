"""ARNs of workflows and executions, formatted like those of Step Functions."""

import re
from dataclasses import dataclass

from unum_runtime.errors import ClientError, ExecutionDoesNotExist
from unum_runtime.model.ir import Home
from unum_runtime.model.naming import escape

_ARN = re.compile(r"arn:(?P<partition>[^:]+):states:(?P<region>[^:]*):(?P<account>[^:]*):(?P<kind>[^:]+):(?P<rest>.+)")
_ALIAS = re.compile(r"arn:(?P<partition>[^:]+):lambda:(?P<region>[^:]+):(?P<account>[^:]+):function:.+")


MAP_RUN_PARTS = 3
"""Parts of a map run ARN after its kind: workflow and state, execution, run ID."""


class InvalidArn(ClientError):
    """Malformed ARN, or an ARN of another kind."""


class StateMachineDoesNotExist(ClientError):
    """ARN of a state machine other than the client's workflow."""


class ResourceNotFound(ClientError):
    """Unknown map run ARN."""


@dataclass(frozen=True, slots=True)
class Arns:
    """Writer and parser of one workflow's ARNs, equal to those in the context object.

    Attributes:
        workflow: workflow name.
        home: location of the workflow; None if unknown.
    """

    workflow: str
    home: Home | None

    @property
    def state_machine(self) -> str:
        """ARN of the workflow."""
        return self._arn("stateMachine")

    def execution(self, name: str) -> str:
        """Return the ARN of the execution `name`."""
        return f"{self._arn('execution')}:{name}"

    def child_execution(self, label: str, name: str) -> str:
        """Return the ARN of the child execution `name` of the distributed Map with `label`."""
        return f"{self._arn('execution')}/{label}:{name}"

    def map_run(self, execution: str, state: str, run: str) -> str:
        """Return the ARN of the run `run` of the Map `state` in the execution `execution`."""
        return f"{self._arn('mapRun')}/{escape(state)}:{execution}:{run}"

    def execution_of_map_run(self, map_run: str) -> str:
        """Return the execution name in a map run ARN.

        Raises:
            InvalidArn: `map_run` is not a map run ARN.
            ResourceNotFound: the ARN belongs to another workflow, region or account.
        """
        match = _match(map_run)
        parts = match["rest"].split(":") if match is not None and match["kind"] == "mapRun" else []
        if match is None or len(parts) != MAP_RUN_PARTS:
            raise InvalidArn(f"mapRunArn: expected {self.map_run('EXECUTION', 'STATE', 'RUN')}, got {map_run!r}")
        # The state name may contain slashes, the workflow name none.
        if parts[0].partition("/")[0] != self.workflow or not self._is_here(match):
            raise ResourceNotFound(f"mapRunArn: this is a client of {self.state_machine}, got {map_run!r}")
        return parts[1]

    def name_of(self, execution: str) -> str:
        """Return an execution's name, given its ARN or name.

        Raises:
            InvalidArn: neither an ARN nor a name.
            ExecutionDoesNotExist: the ARN belongs to another workflow, region or account.
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

    def child_of(self, execution: str) -> str | None:
        """Return the name of the child execution with the ARN `execution`; None for all else.

        Raises:
            ExecutionDoesNotExist: the ARN belongs to another workflow, region or account.
        """
        match = _match(execution)
        if match is None or match["kind"] != "execution":
            return None
        machine, _, name = match["rest"].rpartition(":")
        workflow, is_child, _ = machine.partition("/")
        if not is_child:
            return None
        if workflow != self.workflow or not self._is_here(match):
            raise ExecutionDoesNotExist(f"executionArn: this is a client of {self.state_machine}, got {execution!r}")
        return name

    def check_state_machine(self, state_machine: str | None) -> None:
        """Raise an error unless `state_machine` (ARN, name or None) is this workflow.

        Raises:
            InvalidArn: neither an ARN nor a name.
            StateMachineDoesNotExist: another state machine.
        """
        if state_machine is None or state_machine == self.workflow:
            return
        # Names contain no colon (API Reference, CreateStateMachine, name), so a text with one must be an ARN.
        match, is_name = _match(state_machine), isinstance(state_machine, str) and ":" not in state_machine
        if not is_name and (match is None or match["kind"] != "stateMachine"):
            raise InvalidArn(f"stateMachineArn: expected {self.state_machine}, or nothing, got {state_machine!r}")
        if match is None or match["rest"] != self.workflow or not self._is_here(match):
            raise StateMachineDoesNotExist(
                f"stateMachineArn: this is a client of {self.state_machine}, got {state_machine!r}"
            )

    def _arn(self, kind: str) -> str:
        return (self.home or Home()).arn(f"{kind}:{self.workflow}")

    def _is_here(self, arn: re.Match[str]) -> bool:
        """Return True if region and account match the workflow's, or are unknown."""
        here = self.home
        return here is None or (here.partition, here.region, here.account) == arn.group(
            "partition", "region", "account"
        )


def activity_name(activity: object) -> str:
    """Return an activity's name, given its ARN or name; ignore region and account, like definitions.

    Raises:
        InvalidArn: neither an ARN nor a name.
    """
    if isinstance(activity, str) and ":" not in activity:
        return activity
    match = _match(activity)
    if match is None or match["kind"] != "activity":
        expected = "expected arn:PARTITION:states:REGION:ACCOUNT:activity:NAME, or the name"
        raise InvalidArn(f"activityArn: {expected}, got {activity!r}")
    return match["rest"]


def _match(arn: object) -> re.Match[str] | None:
    """Match `arn`; return None for anything but an ARN of Step Functions."""
    return _ARN.fullmatch(arn) if isinstance(arn, str) else None


def home_of(start_alias: str | None) -> Home | None:
    """Return region and account in a start alias; None if unknown."""
    match = _ALIAS.fullmatch(start_alias or "")
    return None if match is None else Home(**match.groupdict())
