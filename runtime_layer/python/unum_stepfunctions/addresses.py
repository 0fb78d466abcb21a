"""Addresses of workflows, as grants give them to functions in an environment variable."""

import os
import re
from typing import Any

ADDRESSES = "UNUM_ADDRESSES"
"""Environment variable with ARNs of aliases, and tables as ``WORKFLOW=TABLE``, separated by commas."""

_ALIAS = re.compile(
    r"arn:(?P<partition>[^:]+):lambda:(?P<region>[^:]*):(?P<account>[^:]*):function:[^:]+:"
    r"(?P<kind>start|describe|stop|redrive|operate)-(?P<name>[A-Za-z0-9_-]+)"
)
_STATES = re.compile(
    r"arn:(?P<partition>[^:]+):states:(?P<region>[^:]*):(?P<account>[^:]*):"
    r"(?P<kind>stateMachine|execution|mapRun):(?P<name>[A-Za-z0-9_-]+)(?P<rest>.*)"
)


class Workflow:
    """A workflow, with what a function may use of it.

    Args:
        name: name of the workflow.
        home: partition, region and account.
        table: name of its table; empty if the function may not read it.

    Attributes:
        aliases: ARNs of aliases by kind.
    """

    def __init__(self, name: str, home: tuple[str, str, str], table: str) -> None:
        self.name, self.home, self.table, self.aliases = name, home, table, dict[str, str]()

    @property
    def region(self) -> str:
        """Region of the workflow."""
        return self.home[1]

    @property
    def run(self) -> str:
        """ARN of the run alias, which belongs to the function of the start alias."""
        return f"{self.aliases['start'].rpartition(':')[0]}:run-{self.name}"

    @property
    def machine(self) -> str:
        """ARN of the workflow: its address, if the function may start executions."""
        return self.aliases.get("start") or self._arn("stateMachine")

    def execution(self, name: str) -> str:
        """Return the ARN of the execution `name`."""
        return f"{self._arn('execution')}:{name}"

    def _arn(self, kind: str) -> str:
        partition, region, account = self.home
        return f"arn:{partition}:states:{region}:{account}:{kind}:{self.name}"


class Addresses:
    """Workflows that a function has grants for, by name.

    Args:
        text: content of `ADDRESSES`.
    """

    def __init__(self, text: str) -> None:
        words = text.split(",")
        self._tables = dict(word.split("=", 1) for word in words if "=" in word)
        self._workflows: dict[str, Workflow] = {}
        for alias in filter(None, map(_ALIAS.fullmatch, words)):
            name, home = alias["name"], _home(alias)
            found = self._workflows.setdefault(name, Workflow(name, home, self._tables.get(name, "")))
            found.aliases[alias["kind"]] = alias.string

    @classmethod
    def from_environment(cls) -> "Addresses":
        """Return those that the function's environment has."""
        return cls(os.environ.get(ADDRESSES, ""))

    def by_machine(self, arn: Any) -> Workflow | None:
        """Return the workflow with the address, or the ARN in executions, `arn`; None for all else."""
        alias = _ALIAS.fullmatch(arn) if isinstance(arn, str) else None
        if alias is None:
            named = self._known(arn)
            return named[0] if named is not None and named[1]["kind"] == "stateMachine" else None
        if alias["kind"] != "start":
            return None
        # A role may have the grant in place of the function: the address alone says where executions start.
        found = Workflow(alias["name"], _home(alias), self._tables.get(alias["name"], ""))
        known = self._workflows.get(found.name)
        if known is not None and known.home == found.home:
            found.aliases |= known.aliases
        found.aliases["start"] = alias.string
        return found

    def by_execution(self, arn: Any) -> tuple[Workflow, str] | None:
        """Return the workflow of the execution `arn`, and the execution's name; None for those of state machines."""
        found = self._known(arn)
        if found is None or found[1]["kind"] != "execution" or not re.fullmatch(r":[^:]+", found[1]["rest"]):
            return None
        return found[0], found[1]["rest"][1:]

    def is_ours(self, arn: Any) -> bool:
        """Return True if `arn` belongs to a workflow."""
        return self.by_machine(arn) is not None or self._known(arn) is not None

    def _known(self, arn: Any) -> tuple[Workflow, re.Match[str]] | None:
        match = _STATES.fullmatch(arn) if isinstance(arn, str) else None
        known = None if match is None else self._workflows.get(match["name"])
        return None if match is None or known is None or known.home != _home(match) else (known, match)


def _home(match: re.Match[str]) -> tuple[str, str, str]:
    return match["partition"], match["region"], match["account"]
