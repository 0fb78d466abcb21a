"""Pages of changes: effect and cost of an operation, before the form that starts it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from unum_cli.timing.levels import Shown
from unum_cli.ui.directory import Place
from unum_cli.ui.guard import is_form_of
from unum_cli.ui.past_reading import Reading
from unum_cli.ui.site import Site
from unum_client.client import Client
from unum_client.terminal.amounts import time_text
from unum_compiler.cost.prices import list_prices
from unum_compiler.cost.receipt import StoredReceipt, stored_receipt
from unum_runtime.errors import UnumError
from unum_runtime.json_text import parse_foreign, to_ascii
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.states import Json

if TYPE_CHECKING:
    from unum_client.control import Deletion, Redriven, Waits

_STEP = (1, 2)
"""Least requests and write units of a step that runs again: its invocation, its commit and one addition to a set."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of an operation.

    Attributes:
        usd: least price in US dollars; None if nothing tells.
        why: what it consists of.
    """

    usd: float | None
    why: str

    @property
    def source(self) -> str:
        """Region and date of the prices."""
        prices = list_prices()
        return f"list prices of {prices.region}, {prices.as_of}"

    @classmethod
    def of(cls, requests: int, writes: int, beside: str = "") -> "Cost":
        """Return the cost of `requests` to Lambda and `writes` units of DynamoDB."""
        usd = list_prices().usd
        why = f"{requests:,} {'request' if requests == 1 else 'requests'} to Lambda, {writes:,} write units"
        total = requests * usd["lambda_request"] + writes * usd["dynamodb_write_unit"]
        return cls(total, f"{why}; {beside}" if beside else why)

    @classmethod
    def answer(cls) -> "Cost":
        """Return the cost of answering a Task."""
        return cls.of(2, 2, "and the steps that follow")


def cost_of(verb: str, reading: Reading) -> Cost:
    """Return the cost of an operation on an execution."""
    rows, receipt = reading.rows(), reading.receipt()
    match verb:
        case "stop":
            return Cost.of(1, 1)
        case "nudge":
            waits = reading.client.why(reading.description.name)
            return Cost.of(1 + waits.count, 0, f"{waits.count:,} events, and the steps that follow")
        case "redrive":
            again = [row for row in rows if row.status in (Shown.FAILED, Shown.STOPPED)]
            count = sum(1 if row.branches is None else _unfinished(row.branches) for row in again) or 1
            requests, writes = _STEP
            beside = f"{count:,} steps run again at least, and what follows them; at most what a whole execution costs"
            return Cost.of(1 + count * requests, 1 + count * writes, beside)
        case "fork":
            copies = 0 if receipt is None else receipt.writes
            usd = None if receipt is None else receipt.usd
            return Cost(
                usd,
                f"at most {copies:,} results are copied, and later states run again: about what this execution cost",
            )
        case "delete":
            items = 0 if receipt is None else receipt.write_units
            return Cost.of(1, items, "the deleted items, by their size")
    return Cost(None, "nothing tells it beforehand")


def _unfinished(branches: Mapping[Shown, int]) -> int:
    return max(1, sum(count for status, count in branches.items() if status is not Shown.SUCCEEDED))


def cost_of_start(client: Client) -> Cost:
    """Return what the latest execution cost, as an estimate of the next."""
    receipt, name = _latest(client)
    if receipt is None:
        return Cost(None, "there is no earlier execution to tell by; `unum cost FILE` estimates it")
    return Cost(receipt.usd, f"what the latest execution, {name}, has cost so far")


def _latest(client: Client) -> tuple[StoredReceipt | None, str]:
    try:
        for one in client.list(limit=1).executions:
            return stored_receipt(client.store, client.workflow, one.name, retention_s=client.retention_s), one.name
    except UnumError:
        pass
    return None, ""


LARGEST_FORM = 8_000_000
"""Bytes of a form; inputs may have 6 MB without an upload."""

_LONGEST_VISIT = 9
"""Digits of the number of a visit; Python refuses to convert thousands of them."""

_ENDED = frozenset(Status) - {Status.RUNNING}
_REDRIVABLE = frozenset((Status.FAILED, Status.TIMED_OUT, Status.ABORTED))

Form = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Change of an execution or a workflow.

    Attributes:
        verb: name in the path, and on the button.
        does: what will happen, for people.
        perform: carries it out, given client, execution name (empty for a workflow) and form; returns what happened.
        statuses: statuses of executions that it is offered for; empty for operations of a workflow.
    """

    verb: str
    does: str
    perform: Callable[[Client, str, Form], list[str]]
    statuses: Collection[Status] = ()

    @property
    def title(self) -> str:
        """Text of the button."""
        return self.verb.capitalize()


def _stop(client: Client, name: str, form: Form) -> list[str]:
    return [f"Stopped at {time_text(client.stop(name, form.get('error') or None, form.get('cause') or None))}."]


def _redrive(client: Client, name: str, form: Form) -> list[str]:
    redriven: Redriven = client.redrive(name, on=form.get("on") or None)
    versions = f"It continues on the {redriven.on} versions: {redriven.reason}." if redriven.on else ""
    left = "" if redriven.is_done else "Results are still being copied; that continues by itself."
    return [text for text in (f"Redriven at {time_text(redriven)}.", versions, left) if text]


def _nudge(client: Client, name: str, _form: Form) -> list[str]:
    waits: Waits = client.nudge(name)
    left = [] if waits.is_done else ["There is more; that continues by itself."]
    return [f"Found {waits.count:,} missing commits and sent what can be sent again.", *left]


def _fork(client: Client, name: str, form: Form) -> list[str]:
    fields: dict[str, Any] = {"input": _json("input", form["input"])} if form.get("input", "").strip() else {}
    visit = form.get("visit") or "1"
    if not visit.isdecimal() or len(visit) > _LONGEST_VISIT:
        raise HTTPException(400, f"visit: expected a number from 1, got {visit!r}.")
    started = client.fork(
        name, from_node=form.get("node", ""), new_name=form.get("name", ""), visit=int(visit), **fields
    )
    return [f"Started {started.name} from {form.get('node')}."]


def _delete(client: Client, name: str, form: Form) -> list[str]:
    if form.get("confirm") != name:
        raise HTTPException(
            400, f"confirm: expected the name {name!r}, got {form.get('confirm', '')!r}; nothing was deleted."
        )
    deletion: Deletion = client.delete_execution(name)
    remains = [
        f"{each.what}, until {time_text(each.until) if each.until else 'an unknown time'}" for each in deletion.remains
    ]
    left = [] if deletion.is_done else ["There is more to delete; that continues by itself."]
    return [f"Deleted at {time_text(deletion.deleted_at)}. What remains:", *remains, *left]


def _start(client: Client, _name: str, form: Form) -> list[str]:
    started = client.start(_json("input", form.get("input", "")), name=form.get("name") or None)
    return [f"{started.name} {'started' if started.is_new else 'had been started'} at {time_text(started.started_at)}."]


def _answer(client: Client, _name: str, form: Form) -> list[str]:
    token = form.get("token", "").strip()
    match form.get("with"):
        case "success":
            client.send_task_success(token, to_ascii(_json("output", form.get("output", ""))))
            return ["The Task has its result."]
        case "failure":
            client.send_task_failure(token, form.get("error") or None, form.get("cause") or None)
            return ["The Task has failed with that error."]
        case "heartbeat":
            client.send_task_heartbeat(token)
            return ["The Task waits for another heartbeat interval."]
    raise HTTPException(400, "with: expected success, failure or heartbeat.")


_OF_EXECUTIONS = (
    Operation(
        verb="stop",
        does="Ends the execution as ABORTED. User code that runs now may finish; nothing new starts.",
        perform=_stop,
        statuses={Status.RUNNING},
    ),
    Operation(
        verb="nudge",
        does="Sends again the events that the execution waits for. That is as safe as a late delivery: what is "
        "committed stays, and user code that runs at this moment may run twice.",
        perform=_nudge,
        statuses={Status.RUNNING},
    ),
    Operation(
        verb="redrive",
        does="Continues the execution: successful steps are kept, failed ones run again.",
        perform=_redrive,
        statuses=_REDRIVABLE,
    ),
    Operation(
        verb="fork",
        does="Starts another execution from one state of this one, on the functions that are deployed now, with copies "
        "of the results before that state. This execution stays as it is.",
        perform=_fork,
        statuses=frozenset(Status),
    ),
    Operation(
        verb="delete",
        does="Deletes all items and objects of this execution, with its history. That cannot be undone.",
        perform=_delete,
        statuses=_ENDED,
    ),
)

_OF_WORKFLOWS = (
    Operation(verb="start", does="Starts an execution.", perform=_start),
    Operation(
        verb="answer",
        does="Answers a Task that waits with a task token, as its responder would. A token is accepted once.",
        perform=_answer,
    ),
)


def offered(status: Status) -> list[Operation]:
    """Return the operations for an execution with `status`."""
    return [each for each in _OF_EXECUTIONS if status in each.statuses]


@dataclass(frozen=True)
class Operations:
    """Handlers of the pages that change something; see `Site`."""

    site: Site

    def ask(self, request: Request) -> Response:
        """Show effect and cost of an operation, with the form that starts it."""
        operation, place, name = self._asked(request)
        if not name:
            return self._form(
                place, operation, cost_of_start(place.client) if operation.verb == "start" else Cost.answer()
            )
        reading = Reading.of(place.client, name)
        nodes = [] if reading.past is None else _nodes(reading)
        return self._form(
            place, operation, cost_of(operation.verb, reading), name=name, nodes=nodes, one=reading.description
        )

    async def perform(self, request: Request) -> Response:
        """Carry an operation out, and show what happened.

        Raises:
            HTTPException: the form is not of this page, or too large.
        """
        operation, place, name = self._asked(request)
        form = await _form_of(request)
        if not is_form_of(self.site.secrets, form):
            raise HTTPException(403, "Expected a form of this page; load the page again.")
        fields = {field: values[0] for field, values in form.items()}
        lines = await run_in_threadpool(operation.perform, place.client, name, fields)
        target = fields.get("name", "") if operation.verb in ("fork", "start") else name
        is_gone = operation.verb in ("delete", "answer") or not target
        path = f"{place.path}/" if is_gone else f"{place.path}/executions/{target}"
        return self.site.render("done.html", place=place, operation=operation, lines=lines, path=path)

    def _asked(self, request: Request) -> tuple[Operation, Place, str]:
        name = request.path_params.get("name", "")
        verb = request.path_params["verb"]
        for each in _OF_EXECUTIONS if name else _OF_WORKFLOWS:
            if each.verb == verb:
                return each, self.site.place(request), name
        raise HTTPException(404, f"There is no page {verb!r}.")

    def _form(self, place: Place, operation: Operation, cost: Cost, **context: Any) -> Response:
        shared: dict[str, Any] = {"name": "", "nodes": [], "one": None}
        return self.site.render("operation.html", place=place, operation=operation, cost=cost, **{**shared, **context})


def _nodes(reading: Reading) -> list[str]:
    """Return the states of the top level that the execution has reached, as candidates for a fork."""
    return [*dict.fromkeys(row.state for row in reading.rows())]


async def _form_of(request: Request) -> dict[str, list[str]]:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_FORM:
            raise HTTPException(413, f"Expected a form of at most {LARGEST_FORM:,} bytes.")
    try:
        return parse_qs(content.decode("ascii"), keep_blank_values=True, max_num_fields=20)
    except ValueError as error:
        raise HTTPException(400, "Expected a form.") from error


def _json(field: str, text: str) -> Json:
    try:
        return parse_foreign(text)
    except ValueError as error:
        raise HTTPException(400, f"{field}: expected JSON: {error}.") from error
