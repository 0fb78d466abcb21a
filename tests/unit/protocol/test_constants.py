"""Limits, times, names in stored items and events, and what is left out: values that others rely on, or that pay off.

Each was chosen for a reason that its module gives. A change here is a decision, and for names a migration.
"""

from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

import pytest

from unum_runtime.model.ir import Collection
from unum_runtime.model.list_index import FIRST
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Pattern
from unum_runtime.protocol.control.doors import Door
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.lease import Claim, Lease
from unum_runtime.protocol.delivery.status_events import NEVER_REDRIVEN
from unum_runtime.protocol.fanout.lanes import Lanes
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.planning.plan import WITHOUT_BUCKET, CompleteBranch, Finish, Invoke
from unum_runtime.protocol.runtime import Call, NoTimer, Runtime, silent
from unum_runtime.protocol.waiting.callback import taken_key

QUOTAS = [
    ("delivery.commit", "MAX_ERROR_LENGTH", 256),
    ("delivery.commit", "MAX_CAUSE_LENGTH", 32_768),
    ("planning.quotas", "INLINE_BRANCHES", 40),
    ("planning.quotas", "DISTRIBUTED_BRANCHES", 10_000),
    ("planning.advance", "MAX_PURE_STEPS", 25_000),
    ("planning.plan", "MAX_OUTCOME_BYTES", 380_000),
    ("planning.plan", "DEFAULT_WIDTH_BUDGET", 100_000),
    ("planning.plan", "DEFAULT_INVOCATION_BUDGET", 10_000_000),
    ("runtime", "MAX_DELIVERY_MS", 900_000),
]
SIZES = [
    ("history.definition_records", "PART_BYTES", 390_000),
    ("history.definition_records", "MAX_IR_BYTES", 50_000_000),
    ("history.list_entries", "PORTION", 1_000),
    ("control.nudge", "MOST_KEPT", 100),
    ("control.events.announcements", "FIRST_REDRIVE", 2),
    ("control.removal", "AT_ONCE", 64),
    ("control.removal", "SHOWN", 3),
    ("control.sweep_memory", "MOST", 3_000),
    ("control.walk", "MOST_PARTS", 16),
    ("waiting.callback", "DIGEST_LENGTH", 64),
    ("waiting.signal_slots", "_FIRST_BLOCK", 1),
    ("waiting.signal_slots", "_LAST_BLOCK", 32),
    ("control.signal", "MAX_ID", 128),
    ("control.signal_by_key", "KEEP_S", 86_400),
    ("control.signal_by_key", "MOST_KEPT", 100),
    ("control.signal_by_key", "PAGE", 64),
    ("delivery.pause", "MAX_AGE_MS", 10_000),
    ("control.sharing.remembered", "MAX_PAGE", 1_000),
    ("delivery.memo", "MAX_ABOUT", 120),
]
TIMES = [
    ("runtime", "DEFAULT_RETENTION_S", 604_800),
    ("runtime", "DEADLINE_MARGIN_S", 3_600),
    ("control.removal", "RESERVE_MS", 30_000),
    ("control.sweep", "RESERVE_MS", 60_000),
    ("control.walk", "RESERVE_MS", 60_000),
    ("control.walk", "CURSOR_LIFE_S", 900),
    ("control.delete", "QUIET_MS", 960_000),
    ("delivery.fusion", "SHARE", 0.75),
    ("delivery.fusion", "MARGIN_MS", 1_000),
    ("delivery.lease", "LEASE_MS", 45_000),
    ("delivery.lease", "RENEWALS", 3),
    ("delivery.lease", "PATIENCE_MS", 3_600_000),
    ("delivery.lease", "REPEATED_MS", 120_000),
    ("delivery.waiter", "SHARE", 4),
    ("delivery.waiter", "LEAST_MS", 5_000),
    ("delivery.waiter", "MOST_MS", 60_000),
    ("fanout.lanes", "CHECK_LASTS_MS", 1_000),
    ("history.definition_records", "DAY_S", 86_400),
    ("requests.run", "LEASE_MS", 60_000),
    ("waiting.service_job", "TERM_MS", 900_000),
    ("waiting.service_job", "MARGIN_MS", 300_000),
    ("control.sharing.calling", "LEASE_MS", 60_000),
    ("control.sharing.remembered", "EXPIRED_S", 3_600),
    ("control.sharing.remembered", "_LEFT_MS", 3_000),
]
NAMES = [
    ("control.sweep", "SWEEP", "sweep"),
    ("control.sweep", "ABANDONED", "Unum.Abandoned"),
    ("control.delete", "_STARTS", "states:startExecution"),
    ("fanout.neighbours", "_PREVIOUS", 0),
    ("fanout.neighbours", "_OWN", 1),
    ("requests.answers", "INVALID_REQUEST", "ValidationException"),
    ("requests.messages", "QUEUE", "aws:sqs"),
    ("control.definition_request", "DEFINITION", "definition"),
    ("control.operator_requests", "SILENT", "silent_ms"),
    ("control.operator_requests", "IS_DONE", "is_done"),
    ("delivery.lease", "SWITCH", "UNUM_MAINTAIN_LEASES"),
    ("history.definition_records", "BODY", "definition"),
    ("planning.evaluation", "INPUT", "$input"),
    ("planning.evaluation", "REDRIVES", "$redrives"),
    ("planning.evaluation", "REDRIVEN_AT", "$redriven_at"),
    ("planning.evaluation", "CHILD", "$child"),
    ("planning.evaluation", "SEED", "$seed"),
    ("planning.dataset_variables", "_ITEMS", "$items"),
    ("planning.dataset_variables", "_RESULTS", "$results"),
    ("control.doors", "SIGNAL", "signal"),
    ("control.doors", "SIGNAL_EVENTS", "signal-events"),
    ("control.doors", "CALL", "call"),
    ("control.doors", "OF_RESULTS", ("list_remembered", "show_remembered", "forget_remembered")),
    ("control.doors", "LIST", "list_remembered"),
    ("control.doors", "SHOW", "show_remembered"),
    ("control.doors", "FORGET", "forget_remembered"),
    ("delivery.memo", "ABOUT", "of"),
    ("delivery.memo", "BY", "by"),
    ("delivery.memo", "AT", "at"),
    ("delivery.memo", "UNTIL", "until"),
    ("waiting.signal_wait", "TOO_MANY", "Unum.TooManySignals"),
    ("waiting.signal_wait", "INVALID_KEY", "Unum.InvalidSignalKey"),
    ("waiting.signal_slots", "WAITER", "waiter"),
    ("waiting.signal_slots", "ATTEMPT", "attempt"),
    ("waiting.callback", "PROOF_HASH", "proof_hash"),
    ("waiting.callback", "HEARTBEAT", "heartbeat"),
    ("waiting.callback", "_CHECK", "check"),
    ("waiting.callback", "NUDGE", {"is_over": True}),
]
STORES = [
    ("base", "MAX_ITEM_BYTES", 400_000),
    ("dynamodb", "PARTITION", "pk"),
    ("dynamodb", "SORT", "sk"),
    ("dynamodb", "EXPIRY", "ttl"),
    ("dynamodb", "OWNER", "owner"),
    ("dynamodb", "UNTIL_MS", "until"),
    ("dynamodb", "BATCH_SIZE", 100),
    ("dynamodb", "BATCH_ROUNDS", 8),
    ("dynamodb", "FIRST_PAUSE_S", 0.05),
    ("dynamodb", "FAILED_CONDITION", "ConditionalCheckFailedException"),
    ("dynamodb", "_ENDLESS", {"N": "9223372036854775808"}),
    ("base", "BUCKET", "s3://"),
    ("conditional", "FIRST_PAUSE_S", 0.002),
    ("conditional", "LONGEST_PAUSE_S", 0.2),
    ("conditional", "PARALLEL_READS", 16),
    ("conditional", "OWNER", "owner"),
    ("s3", "DELETED_AT_ONCE", 1_000),
    ("s3", "_MISSING", ("NoSuchKey", "404")),
    ("s3", "_LOST", ("PreconditionFailed", "ConditionalRequestConflict", "412", "409", "NoSuchKey", "404")),
    ("s3_names", "_STATE", "state:"),
    ("s3_names", "_LISTED", "listed:"),
    ("s3_names", "_RECORD_BYTES", 160),
    ("erasure", "BATCH_SIZE", 25),
    ("erasure", "ROUNDS", 8),
    ("erasure", "PAUSE_S", 0.05),
    ("large_items", "LEAST_BYTES", 10_000),
    ("large_items", "MAX_EVENT_BYTES", 1_000_000),
    ("large_items", "DAY_S", 86_400),
]

OTHER_DISTRIBUTIONS = [
    ("unum_azure.cosmos", "DELETION_DELAY_S", 3_600),
    ("unum_azure.cosmos", "MAX_PATCH_OPERATIONS", 10),
    ("unum_azure.cosmos", "_PARTITION_PATH", "/partition"),
    ("unum_azure.cosmos", "_INDEXED", ("/partition/?", "/sort/?", "/item/list/?", "/item/list_at/?")),
    ("unum_google.firestore", "ROOT", "unum"),
    ("unum_google.firestore", "ITEMS", "unum_items"),
    ("unum_google.firestore", "LISTED", "unum_listed"),
    ("unum_google.firestore", "DELETED_AT_ONCE", 100),
    ("unum_google.firestore_documents", "SORT", "sort"),
    ("unum_google.firestore_documents", "EXPIRY", "expires_at"),
    ("unum_google.firestore_documents", "_ITEM", "item"),
    ("unum_google.firestore_documents", "_LISTED_IN", "partition"),
    ("unum_google.firestore_documents", "_LISTED_AS", "of"),
    ("unum_google.firestore_documents", "_MEMBER", "m"),
    ("unum_google.firestore_documents", "_ESCAPES", {".": ".!", "/": ".~"}),
    ("unum_google.firestore_documents", "_MAX_ID_BYTES", 1_500),
    ("unum_google.firestore_documents", "_NEVER_MS", 2**62),
    ("unum_google.firestore_documents", "_AFTER_NAMES", " ~"),
]


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [(f"unum_runtime.protocol.{module}", name, value) for module, name, value in (*QUOTAS, *SIZES, *TIMES, *NAMES)]
    + [(f"unum_runtime.store.{module}", name, value) for module, name, value in STORES]
    + OTHER_DISTRIBUTIONS,
)
def test_a_value_is_what_was_decided(module: str, name: str, value: Any) -> None:
    assert getattr(import_module(module), name) == value


def test_doors_are_named_in_permissions_by_these_names() -> None:
    assert {"stop", "redrive", "fork", "nudge", "delete", "pause", "sweep"} <= {each.value for each in Door}


def test_a_worker_that_has_taken_a_task_is_stored_beside_its_token() -> None:
    assert taken_key(Key("token:w/0", "pending")) == Key("token:w/0", "taken")


def test_a_delivery_begins_with_an_event_and_knows_nothing() -> None:
    delivery, lanes = DeliveryState({}), Lanes()
    assert (delivery.is_fused, delivery.is_new, delivery.may_continue, delivery.lanes) == (False, False, False, None)
    assert (lanes.checked_ms, type(lanes.checked_ms)) == (0, int)


def test_advice_about_large_values_names_the_option() -> None:
    assert WITHOUT_BUCKET == (
        ': give the workflow a bucket for larger ones, payload="s3", or pass large data by reference'
    )


def test_who_claims_nothing_may_work_and_logs_nothing() -> None:
    assert Claim().may_work() is True
    assert {each.name: each.default for each in fields(Lease)}["log"] is silent
    assert Lease.acquire.__kwdefaults__ == {"if_unknown": True}


def test_a_deployment_has_no_timer_unless_it_is_given_one() -> None:
    assert {each.name: each.default_factory for each in fields(Runtime)}["timer"] is NoTimer


def test_the_text_of_a_call_shows_no_token_and_no_addresses() -> None:
    call = Call("e", "e:1#1", "A", "F", "w/e:1#1", token="secret", start_aliases={"w": "address"})
    assert "secret" not in repr(call)
    assert "address" not in repr(call)


def test_reasons_for_pending_commits_are_shown_by_these_names() -> None:
    assert [each.value for each in WaitsFor] == ["delivery", "time", "answer", "job"]


DEFAULTS: list[tuple[str, dict[str, Any]]] = [
    ("control.fork.ForkRequest", {"visit": 1, "value": None}),
    ("control.operator_requests.Request", {"silent_ms": 0, "on": None}),
    ("control.redrive_fan_out._Pair", {"has_failed": False}),
    ("control.sweep.Sweep", {"after": FIRST, "letters": ""}),
    ("control.sharing.calling.CallRequest", {"arguments": None, "run": None}),
    ("delivery.lease.Claim", {"refusal": None}),
    ("delivery.status_events.StatusEvents", {"notes_first": False}),
    ("history.pending.Missing", {"until_ms": None, "job": None}),
    ("history.pending.EndedBranches", {"nodes": (), "arrivals": ()}),
    ("planning.advance.AtTask", {"due_ms": None}),
    ("planning.advance.Visit", {"branches": ()}),
    ("planning.evaluation.EvaluationContext", {"variables": {}, "visited": 0}),
    ("planning.plan.Invoke", {"due_ms": None, "retries": (), "job": None, "is_new": False}),
    ("planning.plan.OpenScope", {"part": None}),
    ("planning.plan.Commit", {"duration_ms": 0, "attempt": 0, "joins": None, "as_of_ms": None}),
    (
        "runtime.Call",
        {
            "resource": None,
            "pattern": Pattern.RESPONSE,
            "attempt": 0,
            "timeout_s": None,
            "token": "",
            "job": None,
            "start_aliases": {},
        },
    ),
    (
        "runtime.Runtime",
        {
            "carried": (),
            "retention_s": 604_800,
            "result_retention_s": None,
            "collection": Collection.TTL,
            "code": "",
            "maintain_leases": False,
            "own_address": "",
            "continued_at": {},
            "fuses": None,
            "most_begun": 1_000,
            "hand_over": None,
            "gone": None,
        },
    ),
]


@pytest.mark.parametrize(("record", "defaults"), DEFAULTS)
def test_what_is_left_out_of_a_record_has_its_neutral_value(record: str, defaults: dict[str, Any]) -> None:
    module, _, name = record.rpartition(".")
    kind = getattr(import_module(f"unum_runtime.protocol.{module}"), name)
    assert is_dataclass(kind)
    found = {each.name: each for each in fields(kind)}
    for field, value in defaults.items():
        each = found[field]
        default = each.default if each.default_factory is MISSING else each.default_factory()
        assert (default, type(default)) == (value, type(value)), field


@pytest.mark.parametrize(
    ("record", "defaults"),
    [
        ("control.removal.Removed", {"activities": frozenset(), "timer": False, "schedules": None}),
        (
            "control.removal.Stranded",
            {"executions": 0, "names": (), "parts": frozenset(), "last_s": 0, "is_complete": True},
        ),
        ("control.sweep_memory.Memory", {"horizon": FIRST, "running": ()}),
        ("delivery.status_events.Redriven", {"times": 0, "at_ms": None}),
        ("delivery.status_events.StatusChange", {"outcome": None, "redriven": NEVER_REDRIVEN}),
        ("control.walk.Tally", {"branches": 0, "latest_ms": 0}),
        ("waiting.signal_slots.Signal", {"key": ""}),
        ("waiting.callback.Limits", {"timeout_s": None, "heartbeat_s": None}),
    ],
)
def test_what_is_left_out_of_a_tuple_has_its_neutral_value(record: str, defaults: dict[str, Any]) -> None:
    module, _, name = record.rpartition(".")
    kind = getattr(import_module(f"unum_runtime.protocol.{module}"), name)
    assert kind._field_defaults == defaults
    assert [*map(type, kind._field_defaults.values())] == [*map(type, defaults.values())]


@pytest.mark.parametrize(
    "record",
    [
        "control.fork.ForkRequest",
        "control.operator_requests.Request",
        "control.sharing.calling.CallRequest",
        "control.sweep.Sweep",
        "delivery.lease.Lease",
        "delivery.status_events.StatusEvents",
        "history.pending.Missing",
        "planning.task_facts.TaskFacts",
        "runtime.Runtime",
    ],
)
def test_records_with_many_fields_are_made_by_name_and_never_changed(record: str) -> None:
    module, _, name = record.rpartition(".")
    kind = getattr(import_module(f"unum_runtime.protocol.{module}"), name)
    assert all(each.kw_only for each in fields(kind))
    with pytest.raises(AttributeError):
        object.__new__(kind).another = 1


@pytest.mark.parametrize(
    ("kind", "ignored"),
    [(Invoke, {"tries"}), (CompleteBranch, {"step", "ended_ms"}), (Finish, {"step", "at_ms"})],
)
def test_effects_are_equal_whatever_they_tell_of_attempts_and_times(kind: type, ignored: set[str]) -> None:
    assert {each.name for each in fields(kind) if not each.compare} == ignored
