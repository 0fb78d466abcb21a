"""Command ``unum versions``: list published function versions, delete unneeded ones.

An execution stays on the versions that it began with, and on those that their environments name. So do the failure
handlers that are the destinations of these versions. A version that none of this leads to, and no alias, runs no more.
"""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import client_at, located, needing_boto3, session_of
from unum_cli.commands.printing import print_json
from unum_cli.commands.stack import Deployed
from unum_client.client import Client
from unum_runtime.errors import InvokeError, UnumError
from unum_runtime.functions.configuration import services_in
from unum_runtime.functions.operations.function_versions import function_of
from unum_runtime.model.checkpoint import Began, Status
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.wire.call_errors import call_errors

_VERSION = re.compile(r"arn:[\w-]+:lambda:[\w-]+:\d+:function:[\w-]+:\d+")
_NO_CONFIGURATION = frozenset({"ResourceNotFoundException"})

LATEST = "$LATEST"


@dataclass(frozen=True)
class StoredVersion:
    """A published version.

    Attributes:
        function: ARN of its function.
        version: its number.
        size: bytes of its code, without layers.
        needed_by: reason to keep it; empty if nothing needs it.
    """

    function: str
    version: int
    size: int
    needed_by: str = ""

    @property
    def address(self) -> str:
        """Qualified ARN."""
        return f"{self.function}:{self.version}"


@dataclass(frozen=True)
class Functions:
    """Versions of functions, as Lambda reports them.

    Attributes:
        client: Lambda client.
    """

    client: Any
    _found: dict[str, tuple[frozenset[str], Mapping[str, Any]]] = field(default_factory=dict)

    def leads_to(self, address: str) -> frozenset[str]:
        """Return versions named by environment and on-failure destination of `address`."""
        return self._look_up(address)[0]

    def services(self, address: str) -> Mapping[str, Any]:
        """Return services of `address` by workflow name; empty for deleted versions."""
        return self._look_up(address)[1]

    def aliases(self, function: str) -> dict[str, list[str]]:
        """Return alias names of `function`, grouped by version address."""
        found: dict[str, list[str]] = {}
        for page in self._pages("list_aliases", function):
            for alias in page["Aliases"]:
                weights = alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
                for version in (alias["FunctionVersion"], *weights):
                    found.setdefault(f"{function}:{version}", []).append(alias["Name"])
        return found

    def published(self, function: str) -> list[StoredVersion]:
        """Return all published versions of `function`, the oldest first."""
        versions = [
            StoredVersion(function, int(each["Version"]), int(each["CodeSize"]))
            for page in self._pages("list_versions_by_function", function)
            for each in page["Versions"]
            if each["Version"] != LATEST
        ]
        return sorted(versions, key=lambda each: each.version)

    def delete(self, version: StoredVersion) -> None:
        """Delete `version` with its configuration of asynchronous events."""
        self._call("delete_function_event_invoke_config", version.address, or_none=True)
        self._call("delete_function", version.address, or_none=True)

    def _look_up(self, address: str) -> tuple[frozenset[str], Mapping[str, Any]]:
        if address not in self._found:
            found = self._call("get_function_configuration", address, or_none=True) or {}
            environment = found.get("Environment", {})
            if "Error" in environment:
                raise InvokeError(f"{address}: its environment cannot be read: {environment['Error']}")
            variables = environment.get("Variables", {})
            events = self._call("get_function_event_invoke_config", address, or_none=True) or {}
            destination = str(events.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", ""))
            texts = (*variables.values(), destination)
            named = frozenset(name for text in texts for name in _VERSION.findall(text))
            self._found[address] = named, services_in(variables)
        return self._found[address]

    def _pages(self, operation: str, function: str) -> Iterator[Mapping[str, Any]]:
        marker: dict[str, Any] = {}
        while True:
            page = self._call(operation, function, **marker)
            yield page
            if not page.get("NextMarker"):
                return
            marker = {"Marker": page["NextMarker"]}

    def _call(self, operation: str, address: str, *, or_none: bool = False, **parameters: Any) -> Any:
        """Request `operation` for `address`; return None for missing resources if requested.

        Raises:
            InvokeError: AWS refused or did not answer.
        """
        function = function_of(address)
        qualified = {} if address == function else {"Qualifier": address.rpartition(":")[2]}
        try:
            return getattr(self.client, operation)(FunctionName=function.rpartition(":")[2], **qualified, **parameters)
        except call_errors() as error:
            code = getattr(error, "response", {}).get("Error", {}).get("Code")
            if or_none and code in _NO_CONFIGURATION:
                return None
            raise InvokeError(f"{address}: {error}") from error


@dataclass(frozen=True)
class Search:
    """A search for versions that a workflow's executions need.

    Attributes:
        functions: the versions.
        workflow: name of the workflow.
        roots: ARNs of functions that have aliases of the workflow.
        clients: returns a client of the workflow with that name and table; functions may belong to several.
        keep: number of newest versions of each function to keep.
    """

    functions: Functions
    workflow: str
    roots: tuple[str, ...]
    clients: Any
    keep: int

    @cached_property
    def own(self) -> tuple[str, ...]:
        """Unqualified ARNs of workflow functions."""
        aliased = [address for root in self.roots for address in self.functions.aliases(root)]
        return tuple(dict.fromkeys(function_of(each) for each in self._reached(aliased) if self._is_own(each)))

    def versions(self) -> list[StoredVersion]:
        """Return published versions of workflow functions, with reasons to keep them.

        Raises:
            UnumError: AWS refused, or an execution has not committed anything, so its versions are unknown.
        """
        published = {function: self.functions.published(function) for function in self.own}
        needed: dict[str, str] = {}
        for function, versions in published.items():
            for address, names in self.functions.aliases(function).items():
                needed.setdefault(address, f"alias {', '.join(names)}")
            for version in versions[-self.keep :]:
                needed.setdefault(version.address, "newest")
        # What newest and aliased versions name may be of other functions.
        for address in self._reached([*needed]):
            needed.setdefault(address, "deployed functions")
        for workflow, table in self._workflows(published).items():
            for name, began in self._running(workflow, table):
                for address in self._reached([began.address, *began.routes.values()]):
                    needed.setdefault(address, f"execution {name}")
        return [
            StoredVersion(each.function, each.version, each.size, needed.get(each.address, ""))
            for versions in published.values()
            for each in versions
        ]

    def _is_own(self, address: str) -> bool:
        return self.workflow in self.functions.services(address)

    def _reached(self, begin: list[str]) -> list[str]:
        """Return versions reachable from `begin`, including `begin` itself."""
        ahead = [each for each in dict.fromkeys(begin) if _VERSION.fullmatch(each)]
        seen = {*ahead}
        for address in ahead:  # the list grows while the loop runs
            more = sorted(self.functions.leads_to(address) - seen)
            seen.update(more)
            ahead += more
        return ahead

    def _workflows(self, published: Mapping[str, list[StoredVersion]]) -> dict[str, str]:
        """Return tables of workflows with possible executions on `published` versions, by workflow name."""
        return {
            name: service.table
            for versions in published.values()
            for each in versions
            for name, service in self.functions.services(each.address).items()
        }

    def _running(self, workflow: str, table: str) -> Iterator[tuple[str, Began]]:
        client: Client = self.clients(workflow, table)
        page = client.list(Status.RUNNING)
        while True:
            for execution in page.executions:
                steps = from_start(client.store, workflow, execution.name)
                began = [step.began for step in steps if step.began is not None]
                if not began:
                    raise InvokeError(
                        f"{workflow}: execution {execution.name!r} has committed nothing that says on which versions "
                        "it runs; try again later, or stop it"
                    )
                yield from ((execution.name, each) for each in began)
            if page.token is None:
                return
            page = client.list(Status.RUNNING, token=page.token)


_ROW = "{:>7}  {:>12}  {:40}  {}"


def run(options: argparse.Namespace) -> None:
    """Execute the action in ``options.action``.

    Raises:
        UsageError: unknown workflow.
        CommandFailed: AWS error, or executions whose versions are unknown.
    """
    if options.stack is None and (options.start_alias is None or options.control_alias is None):
        raise UsageError("--start-alias, --control-alias: expected both ARNs, got nothing; or give --stack STACK")
    if options.action == "list" and options.yes:
        raise UsageError("--yes: only `unum versions prune` deletes; remove it")
    with needing_boto3():
        session = session_of(options)
        found = located(session, options)
        functions = Functions(session.boto3.client("lambda"))

        def client(workflow: str, table: str) -> Client:
            same = workflow == found.workflow
            return client_at(found if same else Deployed(workflow=workflow, table=table, start_alias=None), session)

        roots = [function_of(each) for each in (found.start_alias, found.control_alias) if each]
        search = Search(functions, found.workflow, tuple(dict.fromkeys(roots)), client, options.keep)
    try:
        versions = search.versions()
        shown = versions if options.action == "list" else [each for each in versions if not each.needed_by]
        for each in shown if options.yes else ():
            functions.delete(each)
    except UnumError as error:
        raise CommandFailed(str(error)) from error
    _print(shown, options)


def _print(versions: Sequence[StoredVersion], options: argparse.Namespace) -> None:
    size = sum(each.size for each in versions)
    is_pruning = options.action == "prune"
    if options.json:
        shown = [
            {
                "function": each.function,
                "version": each.version,
                "bytes": each.size,
                "needed_by": each.needed_by or None,
            }
            for each in versions
        ]
        print_json({"versions": shown, "bytes": size, "deleted": is_pruning and options.yes})
        return
    print(_ROW.format("VERSION", "BYTES", "FUNCTION", "NEEDED BY"))
    for each in versions:
        print(_ROW.format(each.version, f"{each.size:,}", each.function.rpartition(":")[2], each.needed_by or "-"))
    if not is_pruning:
        print(f"{len(versions)} versions, {size:,} bytes")
    elif options.yes:
        print(f"{len(versions)} versions deleted, {size:,} bytes freed")
    else:
        print(f"{len(versions)} versions would be deleted, and {size:,} bytes freed; delete them with --yes")


def _to_json(version: StoredVersion) -> dict[str, object]:
    needed_by = version.needed_by or None
    return {"function": version.function, "version": version.version, "bytes": version.size, "needed_by": needed_by}
