"""A workflow on a platform in this process, with executions of every kind, and the page that shows it."""

import http.client
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlencode

from tests.unit.client.run_alias import Answering
from tests.unit.protocol.platform import Function, Platform
from unum_cli.logs.search import LogSearch
from unum_cli.ui.directory import Directory, Place
from unum_cli.ui.guard import OneTimeCode, Secrets
from unum_cli.ui.page_server import open_socket, server_of
from unum_cli.ui.site import Site
from unum_client import Client
from unum_client.control import Control
from unum_client.starting import Starts
from unum_client.task_responses import Tasks
from unum_compiler import compile_workflow
from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Began, Success
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.control import control_aliases, operator_requests
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.requests.answers import refusal
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.protocol.runtime import CallbackPending

TOKEN = "arn:aws:states:::lambda:invoke.waitForTaskToken"
PAYLOAD = {"FunctionName": "Ask", "Payload": {"token.$": "$$.Task.Token"}}
RETRY = [{"ErrorEquals": ["Busy"], "IntervalSeconds": 2, "MaxAttempts": 3}]
CATCH = [{"ErrorEquals": ["Broken"], "Next": "Refund", "ResultPath": None}]
DEFINITION: dict[str, Any] = {
    "StartAt": "Receive",
    "States": {
        "Receive": {"Type": "Task", "Resource": "Receive", "Next": "Lines"},
        "Lines": {
            "Type": "Map",
            "ItemsPath": "$.lines",
            "ItemProcessor": {
                "StartAt": "Price",
                "States": {
                    "Price": {"Type": "Task", "Resource": "Price", "Retry": RETRY, "Next": "Round"},
                    "Round": {"Type": "Task", "Resource": "Round", "End": True},
                },
            },
            "ResultPath": "$.prices",
            "Next": "Large?",
        },
        "Large?": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.approve", "BooleanEquals": True, "Next": "Approve"}],
            "Default": "Charge",
        },
        "Approve": {"Type": "Task", "Resource": TOKEN, "Parameters": PAYLOAD, "ResultPath": "$.by", "Next": "Charge"},
        "Charge": {"Type": "Task", "Resource": "Charge", "Retry": RETRY, "Catch": CATCH, "Next": "Ship"},
        "Refund": {"Type": "Task", "Resource": "Refund", "End": True},
        "Ship": {"Type": "Task", "Resource": "Ship", "End": True},
    },
}
QUEUED_MS, INIT_MS = 40, 200
HOSTILE = "<script>alert(1)</script>\"'&"


class Broken(Exception):
    pass


class Busy(Exception):
    pass


@dataclass
class Shop:
    """The workflow; its clock passes as its functions work."""

    tokens: list[str] = field(default_factory=list)
    busy: int = 0
    warm: set[str] = field(default_factory=set)
    requests: Iterator[int] = field(default_factory=count)

    @cached_property
    def platform(self) -> Platform:
        functions: dict[str, Function] = {"Receive": self.pass_on, "Price": self.price, "Round": round, "Ask": self.ask}
        functions |= {"Charge": self.charge, "Refund": self.pass_on, "Ship": self.ship}
        return Platform(compile_workflow(DEFINITION, name="orders", functions=functions), functions)

    def work(self, ms: int) -> None:
        self.platform.clock.ms += ms

    def pass_on(self, event: Any) -> Any:
        self.work(120)
        return event

    def price(self, event: Any) -> Any:
        self.work(1 if event.get("many") else 80)
        return event["count"] * 1.25

    def ask(self, event: Any) -> Any:
        self.work(30)
        self.tokens.append(event["token"])
        return CallbackPending()

    def charge(self, event: Any) -> Any:
        self.work(250)
        match event.get("card"):
            case "broken":
                raise Broken(HOSTILE)
            case "busy" if self.busy < 2:
                self.busy += 1
                raise Busy("try again")
            case "stolen":
                raise PermissionError("card is stolen")
        return event

    def ship(self, event: Any) -> Any:
        self.work(300)
        return {"shipped": event.get("prices"), "note": event.get("note")}

    def run(self, name: str, **order: Any) -> None:
        """Run an execution as far as it goes without anybody's help."""
        value = {"lines": [{"count": 2}, {"count": 3}], "approve": False, **order}
        self.platform.clock.ms += 60_000
        self.arrive("Receive")
        self.platform.start(name, value)
        self.go_on()

    def go_on(self) -> None:
        while self.platform.sent or self.platform.waiting:
            while self.platform.sent:
                self.deliver(self.platform.sent.pop(0))
            if self.platform.waiting:
                self.deliver(self.platform.pass_to_next())

    def deliver(self, event: Envelope) -> None:
        self.work(QUEUED_MS)
        self.arrive(event.state)
        self.platform.deliver(event)

    def arrive(self, state: str) -> None:
        """Tell what Lambda knows of a delivery; the first one of a function meets a cold sandbox."""
        init_ms = None if state in self.warm else INIT_MS
        self.work(init_ms or 0)
        self.warm.add(state)
        facts = Arrival(self.platform.clock.ms, f"request-{next(self.requests)}", f"stream of {state}", init_ms)
        self.platform.options["arrival"] = facts

    @cached_property
    def client(self) -> Client:
        write_definition(self.platform.runtime())
        answering = Answering(self.platform.workflow, self.platform.memory, self, self.platform.clock)
        run = SimpleNamespace(call=lambda _address, payload: answering.call(RUN, payload))
        return Client(
            store=self.platform.memory,
            workflow="orders",
            index=self.platform.memory,
            clock=self.platform.clock,
            starts=Starts(caller=run, invoker=self, run_alias=RUN),
            control=Control(caller=SimpleNamespace(call=self.control), control_alias="alias", workflow="orders"),
            tasks=Tasks(caller=SimpleNamespace(call=self.respond), response_alias="respond"),
        )

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Begin what the run alias starts."""
        for _, payload in events:
            name = json.loads(payload)["start"]
            record = start_record(self.platform.memory, "orders", name)
            assert isinstance(record.outcome, Success)
            self.platform.start(name, record.outcome.value)

    def control(self, _address: str, payload: bytes) -> Any:
        rt, request = self.platform.runtime(), json.loads(payload)
        if control_aliases.asks_for_definition(request):
            return control_aliases.store_definition(rt)
        try:
            done = operator_requests.answer(rt, operator_requests.parse(request), Began("v", {}))
            return done | {"on": "current", "reason": "both have the same definition"}
        except ClientError as error:
            return refusal(type(error).__name__, str(error))

    def respond(self, _address: str, payload: bytes) -> Any:
        return respond.answer(self.platform.runtime(), json.loads(payload))


RUN = "arn:aws:lambda:us-east-1:000000000000:function:entry:run-w"


def open_shop(*, wide: int = 0) -> Shop:
    """Return a shop with an execution of every kind."""
    shop = Shop()
    shop.run("done")
    shop.run("caught", card="broken")
    shop.run("retried", card="busy")
    shop.run("failed", card="stolen", note=HOSTILE)
    shop.run("waiting", approve=True)
    if wide:
        shop.run("wide", lines=[{"count": each, "many": True} for each in range(wide)])
    shop.platform.clock.ms += 600_000
    return shop


@dataclass
class Visitor:
    """A browser without JavaScript: HTTP requests to a page that is served on this machine."""

    site: Site
    cookie: str = ""

    @property
    def port(self) -> int:
        return self.site.secrets.port

    def ask(self, path: str, *, method: str = "GET", body: str = "", **headers: str) -> "Answer":
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own = {"Host": f"127.0.0.1:{self.port}"} | ({"Cookie": self.cookie} if self.cookie else {})
        connection.request(method, path, body or None, own | headers)
        response = connection.getresponse()
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read().decode())
        connection.close()
        return answer

    def enter(self) -> "Visitor":
        answer = self.ask(f"/?token={self.site.secrets.token}")
        assert answer.status == 200
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def send(self, path: str, csrf: str | None = None, **form: str) -> "Answer":
        """Send a form of the page."""
        csrf = self.site.secrets.csrf if csrf is None else csrf
        content = urlencode({**form, "csrf": csrf})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{self.port}"}
        return self.ask(path, method="POST", body=content, **headers)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def words(self) -> str:
        """The text without markup, each run of spaces as one."""
        return " ".join(re.sub(r"<[^>]+>", " ", self.text).split())


@contextmanager
def served(
    shop: Shop, *, allow_changes: bool = False, search: Callable[[Client], LogSearch] | None = None
) -> Iterator[Visitor]:
    """Serve the page as the command does, on a free port."""
    bound = open_socket(0)
    place = Place("Shop", "orders", lambda: shop.client, search)
    site = Site(
        Directory(lambda: {("Shop", "orders"): place}),
        Secrets(bound.getsockname()[1], code=OneTimeCode()),
        allow_changes,
    )
    server = server_of(site)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield Visitor(site)
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()


def key_of(shop: Shop, execution: str, state: str, index: int = 0) -> str:
    """Return the quoted key of the last commit of a state."""
    found = [step for step in shop.client.steps(execution) if step.state == state]
    return quote(str(found[index].checkpoint.name), safe="")
