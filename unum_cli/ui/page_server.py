"""The page's application, its server, and what each of its pages shows."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from unum_cli.logs.search import reading_logs
from unum_cli.timing.levels import Levels, Row
from unum_cli.timing.lineage import Lineage, lineage
from unum_cli.timing.nesting import started_by_steps
from unum_cli.timing.parents import Started, parent_in
from unum_cli.timing.stretches import Part
from unum_cli.ui.directory import Address, Place
from unum_cli.ui.guard import HOST, Guard
from unum_cli.ui.operations import Operations, offered
from unum_cli.ui.past_reading import Reading, graph_data
from unum_cli.ui.site import FOLDER, Site
from unum_client.client import Client
from unum_client.deliveries import Delivery
from unum_client.descriptions import Description, Step
from unum_client.reading.child_executions import ChildExecution, child_executions
from unum_client.reading.execution_list import ExecutionPage, ListedExecution
from unum_client.terminal.amounts import duration_text
from unum_compiler.analysis.changes import Effect, changes
from unum_compiler.cost.receipt import UNKNOWN
from unum_runtime.errors import ExecutionDoesNotExist, NoIndex
from unum_runtime.json_text import to_readable, to_text
from unum_runtime.model.checkpoint import Checkpoint, Collected, Status, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Scope, is_name
from unum_runtime.model.states import Map
from unum_runtime.protocol.history.timeline import failed_with

if TYPE_CHECKING:
    from collections.abc import Callable


# Executions that match filters, page by page.
#
# The index of executions is ordered by start time and knows no other property. So filters are applied to what it lists,
# and a page ends after `MOST_LISTED` executions, however few of them match.

PAGE = 50
MOST_LISTED = 1_000

_WORKFLOW = "/{stack}/{workflow}"
_EXECUTION = f"{_WORKFLOW}/executions/{{name}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Filters.

    Attributes:
        status: required status; None for any.
        name: part of the name; empty for any.
        since: earliest start; None for any.
        until: latest start; None for any.
        attributes: required attributes.
    """

    status: Status | None = None
    name: str = ""
    since: datetime | None = None
    until: datetime | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)

    def admits(self, execution: ListedExecution) -> bool:
        """Return True if `execution` passes all filters."""
        return (
            self.name in execution.name
            and self.status in (None, execution.status)
            and (self.since is None or execution.started_at >= self.since)
            and (self.until is None or execution.started_at <= self.until)
            and self.attributes.items() <= (execution.attributes or {}).items()
        )


@dataclass(frozen=True, slots=True)
class Matching:
    """A page of executions.

    Attributes:
        executions: newest first.
        token: token of the next page; None on the last.
        problem: why executions cannot be listed; empty if they can.
    """

    executions: tuple[ListedExecution, ...]
    token: str | None
    problem: str = ""


def matching(client: Client, wanted: Wanted, token: str | None) -> Matching:
    """Return the page after `token`, by default the first.

    An execution of exactly the wanted name is found in any case, because its name is its address.

    Raises:
        InvalidToken: `token` belongs to another list.
        StoreError: the store did not answer.
    """
    exact = _exact(client, wanted) if token is None else None
    found = [] if exact is None else [exact]
    known = {each.name for each in found}
    try:
        for _ in range(MOST_LISTED // PAGE):
            page = client.list(wanted.status, limit=PAGE, token=token, attributes=wanted.attributes)
            found += [each for each in page.executions if wanted.admits(each) and each.name not in known]
            token = None if _is_over(page, wanted) else page.token
            if token is None or len(found) >= PAGE:
                break
    except NoIndex as error:
        return Matching(tuple(found), None, str(error))
    return Matching(tuple(found), token)


def _is_over(page: ExecutionPage, wanted: Wanted) -> bool:
    """Return True if all further executions started too early."""
    return wanted.since is not None and bool(page.executions) and page.executions[-1].started_at < wanted.since


def _exact(client: Client, wanted: Wanted) -> ListedExecution | None:
    if not is_name(wanted.name):
        return None
    try:
        one = client.describe(wanted.name)
    except ExecutionDoesNotExist:
        return None
    listed = ListedExecution(
        name=one.name,
        status=one.status,
        started_at=one.started_at,
        stopped_at=one.stopped_at,
        attributes=one.attributes,
    )
    return listed if wanted.admits(listed) else None


BRANCHES_ON_A_PAGE = 100
ROWS_ON_A_PAGE = 500
LONGEST_SHOWN = 20_000
"""Characters of a value on a page; the whole value can be downloaded."""

_DEPLOYED = "deployed"


@dataclass(frozen=True)
class Pages:
    """Handlers of the pages that only read; see `Site`."""

    site: Site

    def workflows(self, _request: Request) -> Response:
        """List workflows; show a single workflow at once."""
        places = [*self.site.directory.places().values()]
        if len(places) == 1:
            return RedirectResponse(f"{places[0].path}/", 303)
        return self.site.render("workflows.html", places=places)

    def executions(self, request: Request) -> Response:
        """Show executions, filtered and in pages."""
        place, query = self.site.place(request), request.query_params
        wanted = Wanted(
            status=Status(query["status"]) if query.get("status") in list(Status) else None,
            name=query.get("name", "").strip(),
            since=_time(query.get("since")),
            until=_time(query.get("until")),
            attributes=_attributes(query.get("attributes", "")),
        )
        page = matching(place.client, wanted, query.get("after") or None)
        return self.site.render(
            "executions.html", place=place, wanted=wanted, page=page, statuses=list(Status), query=query
        )

    def execution(self, request: Request) -> Response:
        """Show one execution as graph and as Gantt chart."""
        place, reading = self._read(request)
        rows = reading.rows()
        last = _number(request, "page")
        shown = rows[(last - 1) * ROWS_ON_A_PAGE : last * ROWS_ON_A_PAGE]
        return self.site.render(
            "execution.html",
            **self._facts(place, reading),
            lines=self._lines(reading, shown),
            pages=_pages(len(rows), ROWS_ON_A_PAGE, last),
            parent=link_to_parent(self.site.directory.places(), place, reading.description),
            graph=None if reading.graph is None else to_text(reading.graph),
            receipt=reading.receipt(),
            unknown_costs=UNKNOWN,
            offers=offered(reading.description.status) if self.site.allow_changes else (),
        )

    def branches(self, request: Request) -> Response:
        """Show the branches of one fan-out, in pages."""
        place, reading = self._read(request)
        levels, scope = _levels(reading), _scope(reading, request)
        statuses, only = levels.statuses(scope), request.query_params.get("status", "")
        indexes = [index for index, status in enumerate(statuses) if not only or status == only]
        last = _number(request, "page")
        shown = indexes[(last - 1) * BRANCHES_ON_A_PAGE : last * BRANCHES_ON_A_PAGE]
        rows = [levels.branch(scope, index, statuses[index]) for index in shown]
        lines = [*zip(shown, self._lines(reading, rows), strict=True)]
        return self.site.render(
            "branches.html",
            **self._facts(place, reading),
            scope=scope,
            row=levels.fan_out(scope),
            lines=lines,
            only=only,
            pages=_pages(len(indexes), BRANCHES_ON_A_PAGE, last),
            key=request.query_params["key"],
        )

    def branch(self, request: Request) -> Response:
        """Show the steps of one branch."""
        place, reading = self._read(request)
        levels, scope = _levels(reading), _scope(reading, request)
        index = _number(request, "index", least=0)
        if index >= scope.size:
            raise HTTPException(404, f"{scope.state} has {scope.size:,} branches, numbered from 0.")
        status = levels.statuses(scope)[index]
        rows = levels.rows(scope.branch(index))
        child = _child(reading, scope, index)
        values = (
            {} if child is None else {"input": _shown(Success(child.input)), "output": _shown(Success(child.output))}
        )
        return self.site.render(
            "branch.html",
            **(self._facts(place, reading) | {"values": values}),
            child=child,
            scope=scope,
            index=index,
            branch_status=status,
            lines=self._lines(reading, rows),
            key=request.query_params["key"],
        )

    def step(self, request: Request) -> Response:
        """Show one step: input, output, error."""
        place, reading = self._read(request)
        checkpoint = _checkpoint(reading, request)
        levels = _levels(reading)
        row = next(row for row in levels.rows(checkpoint.name.frames) if row.checkpoint is checkpoint)
        output = checkpoint.outcome if isinstance(checkpoint.outcome, Success) else None
        values = {"input": _shown(levels.value_before(checkpoint.name)), "output": _shown(output)}
        facts = self._facts(place, reading) | {"values": values}
        return self.site.render(
            "step.html",
            **facts,
            row=row,
            line=self._lines(reading, [row])[0],
            checkpoint=checkpoint,
            failure=failed_with(checkpoint),
            is_collected=isinstance(checkpoint.outcome, Collected),
            delivery=Delivery.of(checkpoint),
            has_logs=place.logs is not None,
            children=[*links_to_children(self.site.directory.places(), levels, checkpoint)],
            key=request.query_params["key"],
        )

    def logs(self, request: Request) -> Response:
        """Show the log lines of one step's attempts."""
        place, reading = self._read(request)
        step = Step.of(_checkpoint(reading, request))
        if place.logs is None:
            raise HTTPException(404, "This page has no access to logs.")
        with reading_logs():
            found = [(each, place.logs.reader.read(each).lines) for each in place.logs.of_step(step)]
        return self.site.render(
            "logs.html",
            **self._facts(place, reading),
            step=step,
            invocations=sorted(found, key=lambda one: one[1][0].at if one[1] else one[0].began_at),
            console=place.logs.console,
            key=request.query_params["key"],
        )

    def value(self, request: Request) -> Response:
        """Return a whole input or output as a file."""
        _, reading = self._read(request)
        of, key = request.query_params.get("of"), request.query_params.get("key")
        if key is None:
            found: Any = reading.description.input if of == "input" else reading.description.output
            found = Success(found)
        else:
            checkpoint = _checkpoint(reading, request)
            found = _levels(reading).value_before(checkpoint.name) if of == "input" else checkpoint.outcome
        if not isinstance(found, Success):
            raise HTTPException(404, "No such value is stored.")
        disposition = {"Content-Disposition": f'attachment; filename="{of if of == "input" else "output"}.json"'}
        return Response(found.text, media_type="application/json", headers=disposition)

    def versions(self, request: Request) -> Response:
        """Show what differs between two versions: of executions, or what is deployed."""
        place, query = self.site.place(request), request.query_params
        names = [query.get("old", "").strip(), query.get("new", "").strip() or _DEPLOYED]
        context: dict[str, Any] = {"place": place, "old": names[0], "new": names[1], "found": None, "graphs": []}
        if names[0]:
            old, new = (_version(place.client, name) for name in names)
            found = changes(old, new)
            same = [each for each in found if each.effect is Effect.UNCHANGED]
            context |= {"found": [each for each in found if each not in same], "unchanged": len(same)}
            context |= {"graphs": _graphs(old, new), "breaks": Effect.BREAKS}
        return self.site.render("versions.html", **context)

    def _read(self, request: Request) -> tuple[Place, Reading]:
        place = self.site.place(request)
        return place, Reading.of(place.client, request.path_params["name"])

    def _facts(self, place: Place, reading: Reading) -> dict[str, Any]:
        one = reading.description
        return {
            "place": place,
            "one": one,
            "reading": reading,
            "path": f"{place.path}/executions/{one.name}",
            "values": {"input": _shown(Success(one.input)), "output": _shown(Success(one.output))},
            "ended_at": one.stopped_at or datetime.fromtimestamp(reading.client.clock.now_ms() / 1000, UTC),
        }

    def _lines(self, reading: Reading, rows: Sequence[Row]) -> Any:
        began_ms = int(reading.description.started_at.timestamp() * 1000)
        ended = [each.to_ms for row in rows for each in row.stretches]
        starts = [row.stretches[0].from_ms for row in rows if row.stretches]
        is_part = bool(rows) and rows[0].checkpoint is not None and bool(rows[0].checkpoint.name.frames)
        return chart(rows, min(starts, default=began_ms) if is_part else began_ms, max(ended, default=began_ms))


def _levels(reading: Reading) -> Levels:
    if reading.levels is None:
        raise HTTPException(404, reading.problem)
    return reading.levels


def _checkpoint(reading: Reading, request: Request) -> Checkpoint:
    found = reading.checkpoint(request.query_params.get("key", ""))
    if found is None:
        raise HTTPException(404, reading.problem or "No such step is stored.")
    return found


def _scope(reading: Reading, request: Request) -> Scope:
    scope = _checkpoint(reading, request).opens
    if scope is None:
        raise HTTPException(404, "No Map or Parallel begins after this step.")
    return scope


def _child(reading: Reading, scope: Scope, index: int) -> ChildExecution | None:
    """Return the child execution that a branch of a distributed Map is; None for other branches."""
    state = None if reading.past is None else reading.past.last.states.get(scope.state)
    if reading.past is None or not isinstance(state, Map) or not state.distributed:
        return None
    place = tuple(frame.index for frame in scope.branch(index))
    found = (each for each in child_executions(*reading.past) if each.index == place and each.state == scope.state)
    return next(found, None)


def _number(request: Request, name: str, least: int = 1) -> int:
    text = request.query_params.get(name, "")
    return max(least, int(text)) if text.isdecimal() else least


def _pages(count: int, size: int, page: int) -> dict[str, int]:
    return {"page": page, "last": max(1, -(-count // size)), "count": count, "first": (page - 1) * size + 1}


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes in ``NAME=VALUE, NAME=VALUE``; parts without an equals sign count as nothing."""
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
    except ValueError:
        return None


def _shown(value: Success | None) -> dict[str, Any] | None:
    """Return a value as text for people; None for none."""
    if value is None:
        return None
    text = to_readable(value.value, indent=2)
    return {"text": text[:LONGEST_SHOWN], "rest": max(0, len(text) - LONGEST_SHOWN), "bytes": len(value.text.encode())}


def _version(client: Client, name: str) -> Workflow:
    return client.deployed_definition() if name == _DEPLOYED else client.definition(name)


def _graphs(old: Workflow, new: Workflow) -> list[tuple[str, str]]:
    """Return the graphs of both versions, with their own and changed states marked."""
    shared = {name for name in old.states.keys() & new.states.keys() if old.states[name] == new.states[name]}
    both = old.states.keys() & new.states.keys()
    made = []
    for title, version in (("Old", old), ("New", new)):
        gone = "removed" if version is old else "added"
        own = {name: "changed" if name in both else gone for name in version.states if name not in shared}
        made.append((title, to_text(graph_data(version, None, own))))
    return made


WIDTH = 1000
_LEAST = 3
"""Least width of a bar, so that short work beside long waits can be seen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One part of a row's bar."""

    part: Part
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    """A row with its bars.

    Attributes:
        row: the row.
        bars: its bars, from left to right.
        text: the same in words.
        begun_ms: begin, in milliseconds after that of the chart.
        code_ms: duration of user code.
    """

    row: Row
    bars: tuple[Bar, ...]
    text: str
    begun_ms: int
    code_ms: int


def chart(rows: Sequence[Row], from_ms: int, to_ms: int) -> list[Line]:
    """Return the lines of `rows`, drawn between two times in milliseconds since 1970."""
    scale = WIDTH / max(to_ms - from_ms, 1)
    return [_line(row, from_ms, scale) for row in rows]


def _line(row: Row, from_ms: int, scale: float) -> Line:
    bars = [
        Bar(each.part, _x(each.from_ms - from_ms, scale), max(_LEAST, round((each.to_ms - each.from_ms) * scale, 1)))
        for each in row.stretches
        if each.to_ms > each.from_ms or each.part is Part.CODE
    ]
    lengths: dict[Part, int] = {}
    for each in row.stretches:
        lengths[each.part] = lengths.get(each.part, 0) + each.to_ms - each.from_ms
    begun_ms = row.stretches[0].from_ms - from_ms if row.stretches else 0
    text = ", ".join(f"{part} {duration_text(length)}" for part, length in lengths.items() if length)
    return Line(row, tuple(bars), text or "no time", begun_ms, lengths.get(Part.CODE, 0))


def _x(ms: int, scale: float) -> float:
    return min(round(max(ms, 0) * scale, 1), WIDTH - _LEAST)


class ExecutionLink(NamedTuple):
    """Another execution; `path` is empty if its workflow is unknown here, or several stacks have one of that name."""

    one: Started
    path: str
    lineage: Lineage = Lineage.CONFIRMED


def links_to_children(
    places: Mapping[Address, Place], levels: Levels, checkpoint: Checkpoint
) -> Iterator[ExecutionLink]:
    """Yield a link for each execution that the step with `checkpoint` has started."""
    return (_link(places, one) for step, one in started_by_steps(levels) if step == str(checkpoint.name))


def link_to_parent(places: Mapping[Address, Place], place: Place, child: Description) -> ExecutionLink | None:
    """Return a link to the parent that the input of `child` names; None if it names none.

    The path is empty, too, if the parent's steps have not started `child`.
    """
    parent = parent_in(child.input)
    if parent is None:
        return None

    def client_of(workflow: str) -> Client | None:
        found = place if workflow == place.workflow else _place(places, workflow)
        return None if found is None else found.client

    found = lineage(client_of, child.input, Started(place.workflow, child.name))
    link = _link(places, parent)._replace(lineage=found)
    return link._replace(path="") if found is Lineage.DENIED else link


def _link(places: Mapping[Address, Place], one: Started) -> ExecutionLink:
    found = _place(places, one.workflow)
    return ExecutionLink(one, f"{found.path}/executions/{one.name}" if found is not None else "")


def _place(places: Mapping[Address, Place], name: str) -> Place | None:
    """Return the only workflow with a name; otherwise None."""
    found = [place for (_, workflow), place in places.items() if workflow == name]
    return found[0] if len(found) == 1 else None


def application(site: Site) -> Starlette:
    """Return the application of `site`; without `Site.allow_changes`, it has no path that changes anything."""
    pages = Pages(site)
    read: dict[str, Callable[[Request], Response]] = {
        "/": pages.workflows,
        f"{_WORKFLOW}/": pages.executions,
        f"{_WORKFLOW}/versions": pages.versions,
        _EXECUTION: pages.execution,
        f"{_EXECUTION}/step": pages.step,
        f"{_EXECUTION}/logs": pages.logs,
        f"{_EXECUTION}/branches": pages.branches,
        f"{_EXECUTION}/branch": pages.branch,
        f"{_EXECUTION}/value": pages.value,
        "/assets/{name}": _asset,
    }
    routes = [Route(path, show) for path, show in read.items()]
    if site.allow_changes:
        operations = Operations(site)
        for path in (f"{_WORKFLOW}/{{verb}}", f"{_EXECUTION}/{{verb}}"):
            routes += [Route(path, operations.ask), Route(path, operations.perform, methods=["POST"])]
    guard = Middleware(Guard, secrets=site.secrets)
    return Starlette(routes=routes, middleware=[guard], exception_handlers=site.handlers)


def open_socket(port: int) -> socket.socket:
    """Return a socket on this machine's loopback interface; port 0 chooses a free one.

    Raises:
        OSError: the port is in use.
    """
    # It listens before the server runs, so that a browser that is opened at once waits instead of failing.
    return socket.create_server((HOST, port))


def server_of(site: Site) -> uvicorn.Server:
    """Return the server of `site`, which logs no request: the first one has the secret."""
    app = application(site)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, proxy_headers=False)
    return uvicorn.Server(config)


def _asset(request: Request) -> Response:
    return FileResponse(asset(request.path_params["name"]))


_FOLDERS = (FOLDER / "static", FOLDER / "static" / "vendor")
"""`make setup` copies the libraries into the second folder, and wheels have it."""

_SUFFIXES = frozenset((".css", ".js", ".svg"))


def asset(name: str) -> Path:
    """Return the file `name`.

    Raises:
        HTTPException: there is no such file.
    """
    # Names are looked up, never joined to a path, so no name leads out of the folders.
    known = {path.name: path for folder in _FOLDERS for path in folder.glob("*.*") if path.suffix in _SUFFIXES}
    if name not in known:
        raise HTTPException(404, f"There is no file {name!r}; in a checkout, `make setup` copies libraries.")
    return known[name]
