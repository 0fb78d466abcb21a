"""The example on Google Cloud's parts: it ends right while its functions are killed, and lets no outsider in."""

import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.google.local_platform import ACCOUNT, STARTER, WORKFLOW, Platform, definition, example, platform
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Execution, Name, execution_partition

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]

OUTSIDER = "someone@elsewhere.iam.gserviceaccount.com"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with platform(tmp_path_factory.mktemp("gcp"), example()) as found:
        yield found


def test_a_chain_a_map_a_retry_and_both_ways_of_a_choice(running: Platform) -> None:
    running.start("small", {"order": "2 bolt,3 nut"})
    running.start("large", {"order": "2 bolt,3 nut,4 plate"})
    assert running.result("small") == Success({"total": 8})
    assert running.result("large") == Success({"total": 116})


def test_executions_end_right_while_functions_are_killed(running: Platform) -> None:
    orders: dict[str, list[int]] = {}
    stop, killed, chance = threading.Event(), [0], random.Random(7)  # noqa: S311 - the same each time

    def kill() -> None:
        while not stop.wait(chance.uniform(0.3, 1.0)):
            killed[0] += running.kill(chance.choice(["split", "price"]))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for number in range(100):
            if number >= 4 and killed[0] > 3:  # a fast machine ends four orders before that many deaths
                break
            name, (bolts, nuts, plates) = f"order-{number}", (number % 7, number % 3, number % 2 + 3)
            orders[name] = [bolts, nuts, plates]
            running.start(name, {"order": f"{bolts} bolt,{nuts} nut,{plates} plate"})
            if number >= 4:
                running.result(name)
        found = {name: running.result(name) for name in orders}
    finally:
        stop.set()
        killer.join()
    assert found == {name: Success({"total": _total(*parts)}) for name, parts in orders.items()}
    assert killed[0] > 3


def _total(bolts: int, nuts: int, plates: int) -> int:
    total = bolts + 2 * nuts + 30 * plates
    return total - total // 10 if total > 100 else total


@pytest.mark.parametrize(
    ("email", "claims", "status"),
    [
        (OUTSIDER, {}, 403),
        (STARTER, {}, 403),
        (ACCOUNT, {"forged": "yes"}, 401),
        (ACCOUNT, {"age": "7200"}, 401),
        (ACCOUNT, {"issuer": "https://elsewhere.example"}, 401),
        (ACCOUNT, {"unverified": "yes"}, 401),
        (ACCOUNT, {"audience": "https://other.example"}, 401),
    ],
)
def test_no_outsider_sends_events(running: Platform, email: str, claims: dict[str, str], status: int) -> None:
    event, partition = forged("intruder")
    token = running.token(email, **{"audience": running.urls["split"], **claims})
    assert running.post("split", "/events", event, token)[0] == status
    assert running.post("split", "/events", event, None)[0] == 401
    assert running.store.query(partition) == {}


def test_the_workflows_own_account_sends_events(running: Platform) -> None:
    event, partition = forged("insider")
    token = running.token(ACCOUNT, running.urls["split"])
    assert running.post("split", "/events", event, token)[0] == 200
    assert running.store.query(partition), "so an attack with this event would have been seen"


def test_an_event_in_a_start_is_input_alone(running: Platform) -> None:
    event, partition = forged("inside")
    running.start("outside", {**event, "order": "3 nut"})
    assert running.result("outside") == Success({"total": 6})
    assert running.store.query(partition) == {}


@pytest.mark.parametrize("email", [OUTSIDER, ACCOUNT])
def test_no_other_account_starts_executions(running: Platform, email: str) -> None:
    token = running.token(email, running.urls["split"])
    assert running.post("split", "/start", {"name": "mine", "input": {}}, token)[0] == 403


def test_what_is_no_event_and_no_path_is_refused(running: Platform) -> None:
    token = running.token(ACCOUNT, running.urls["price"])
    assert running.post("price", "/events", {"order": "1 bolt"}, token)[0] == 400
    assert running.post("price", "/other", {}, token)[0] == 404
    assert running.post("split", "/start", {"name": "a/b", "input": 1}, running._starter())[0] == 400


def forged(execution: str) -> tuple[Any, str]:
    """An event that would begin an execution without a start record, and the partition that it would write to."""
    made = Execution(execution, time.time_ns() // 1_000_000)
    event = Envelope(
        workflow=WORKFLOW,
        digest=definition().digest,
        name=Name(made, (), 1),
        state="Split",
        input=Value(Success({"order": "1 bolt"}), made.started_ms),
        sent_s=int(time.time()),
        routes={},
    )
    return event.to_json(), execution_partition(WORKFLOW, made)
