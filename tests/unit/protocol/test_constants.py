"""Limits, times, names in stored items and events, and what is left out: values that others rely on, or that pay off.

Each was chosen for a reason that its module gives. A change here is a decision, and for names a migration.
"""

from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

import pytest

from unum_runtime.features.status_events.status_events import NEVER_REDRIVEN
from unum_runtime.model.ir import Collection
from unum_runtime.model.list_index import FIRST
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Pattern
from unum_runtime.protocol.control.control_aliases import ControlAlias
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.lease import Claim, Lease
from unum_runtime.protocol.fanout.lanes import Lanes
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.planning.plan import WITHOUT_BUCKET, CompleteBranch, Finish, Invoke
from unum_runtime.protocol.runtime import Call, NoTimer, Runtime, silent
from unum_runtime.protocol.waiting.callback import taken_key

QUOTAS = [
    ("protocol.delivery.commit", "MAX_ERROR_LENGTH", 256),
    ("protocol.delivery.commit", "MAX_CAUSE_LENGTH", 32_768),
    ("protocol.planning.quotas", "INLINE_BRANCHES", 40),
    ("protocol.planning.quotas", "DISTRIBUTED_BRANCHES", 10_000),
    ("protocol.planning.advance", "MAX_PURE_STEPS", 25_000),
    ("protocol.planning.plan", "MAX_OUTCOME_BYTES", 380_000),
    ("protocol.planning.plan", "DEFAULT_WIDTH_BUDGET", 100_000),
    ("protocol.planning.plan", "DEFAULT_INVOCATION_BUDGET", 10_000_000),
    ("protocol.runtime", "MAX_DELIVERY_MS", 900_000),
]
SIZES = [
    ("protocol.requests.definition_records", "PART_BYTES", 390_000),
    ("protocol.requests.definition_records", "MAX_IR_BYTES", 50_000_000),
    ("protocol.history.list_entries", "PORTION", 1_000),
    ("protocol.control.nudge", "MOST_KEPT", 100),
    ("features.status_events.announcements", "FIRST_REDRIVE", 2),
    ("protocol.control.deletions.removal", "AT_ONCE", 64),
    ("protocol.control.deletions.removal", "SHOWN", 3),
    ("protocol.control.sweep_memory", "MOST", 3_000),
    ("protocol.control.walk", "MOST_PARTS", 16),
    ("protocol.waiting.callback", "DIGEST_LENGTH", 64),
    ("features.signals.signal_slots", "_FIRST_BLOCK", 1),
    ("features.signals.signal_slots", "_LAST_BLOCK", 32),
    ("features.signals.signal", "MAX_ID", 128),
    ("features.signals.signal_by_key", "KEEP_S", 86_400),
    ("features.signals.signal_by_key", "MOST_KEPT", 100),
    ("features.signals.signal_by_key", "PAGE", 64),
    ("protocol.delivery.pause", "MAX_AGE_MS", 10_000),
    ("features.memo.remembered", "MAX_PAGE", 1_000),
    ("features.memo.memo", "MAX_ABOUT", 120),
]
TIMES = [
    ("protocol.runtime", "DEFAULT_RETENTION_S", 604_800),
    ("protocol.runtime", "DEADLINE_MARGIN_S", 3_600),
    ("protocol.control.deletions.removal", "RESERVE_MS", 30_000),
    ("protocol.control.sweep", "RESERVE_MS", 60_000),
    ("protocol.control.walk", "RESERVE_MS", 60_000),
    ("protocol.control.walk", "CURSOR_LIFE_S", 900),
    ("protocol.control.deletions.delete", "QUIET_MS", 960_000),
    ("protocol.delivery.fusion", "SHARE", 0.75),
    ("protocol.delivery.fusion", "MARGIN_MS", 1_000),
    ("protocol.delivery.lease", "LEASE_MS", 45_000),
    ("protocol.delivery.lease", "RENEWALS", 3),
    ("protocol.delivery.lease", "PATIENCE_MS", 3_600_000),
    ("protocol.delivery.lease", "REPEATED_MS", 120_000),
    ("features.timers.waiter", "SHARE", 4),
    ("features.timers.waiter", "LEAST_MS", 5_000),
    ("features.timers.waiter", "MOST_MS", 60_000),
    ("protocol.fanout.lanes", "CHECK_LASTS_MS", 1_000),
    ("protocol.requests.definition_records", "DAY_S", 86_400),
    ("protocol.requests.run", "LEASE_MS", 60_000),
    ("protocol.waiting.service_job", "TERM_MS", 900_000),
    ("protocol.waiting.service_job", "MARGIN_MS", 300_000),
    ("features.memo.calling", "LEASE_MS", 60_000),
    ("features.memo.remembered", "EXPIRED_S", 3_600),
    ("features.memo.remembered", "_LEFT_MS", 3_000),
]
NAMES = [
    ("protocol.control.sweep", "SWEEP", "sweep"),
    ("protocol.control.sweep", "ABANDONED", "Unum.Abandoned"),
    ("protocol.control.deletions.delete", "_STARTS", "states:startExecution"),
    ("protocol.fanout.neighbours", "_PREVIOUS", 0),
    ("protocol.fanout.neighbours", "_OWN", 1),
    ("protocol.requests.answers", "INVALID_REQUEST", "ValidationException"),
    ("protocol.requests.messages", "QUEUE", "aws:sqs"),
    ("protocol.control.control_aliases", "DEFINITION", "definition"),
    ("protocol.control.operator_requests", "SILENT", "silent_ms"),
    ("protocol.control.operator_requests", "IS_DONE", "is_done"),
    ("protocol.delivery.lease", "SWITCH", "UNUM_MAINTAIN_LEASES"),
    ("protocol.requests.definition_records", "BODY", "definition"),
    ("protocol.planning.evaluation", "INPUT", "$input"),
    ("protocol.planning.evaluation", "REDRIVES", "$redrives"),
    ("protocol.planning.evaluation", "REDRIVEN_AT", "$redriven_at"),
    ("protocol.planning.evaluation", "CHILD", "$child"),
    ("protocol.planning.evaluation", "SEED", "$seed"),
    ("protocol.planning.dataset_variables", "_ITEMS", "$items"),
    ("protocol.planning.dataset_variables", "_RESULTS", "$results"),
    ("protocol.control.control_aliases", "SIGNAL", "signal"),
    ("protocol.control.control_aliases", "SIGNAL_EVENTS", "signal-events"),
    ("protocol.control.control_aliases", "CALL", "call"),
    ("protocol.control.control_aliases", "OF_RESULTS", ("list_remembered", "show_remembered", "forget_remembered")),
    ("protocol.control.control_aliases", "LIST", "list_remembered"),
    ("protocol.control.control_aliases", "SHOW", "show_remembered"),
    ("protocol.control.control_aliases", "FORGET", "forget_remembered"),
    ("features.memo.memo", "ABOUT", "of"),
    ("features.memo.memo", "BY", "by"),
    ("features.memo.memo", "AT", "at"),
    ("features.memo.memo", "UNTIL", "until"),
    ("features.signals.signal_wait", "TOO_MANY", "Unum.TooManySignals"),
    ("features.signals.signal_wait", "INVALID_KEY", "Unum.InvalidSignalKey"),
    ("features.signals.signal_slots", "WAITER", "waiter"),
    ("features.signals.signal_slots", "ATTEMPT", "attempt"),
    ("protocol.waiting.callback", "PROOF_HASH", "proof_hash"),
    ("protocol.waiting.callback", "HEARTBEAT", "heartbeat"),
    ("features.task_tokens.given_tokens", "_CHECK", "check"),
    ("protocol.waiting.callback", "NUDGE", {"is_over": True}),
]
STORES = [
    ("store.base", "MAX_ITEM_BYTES", 400_000),
    ("store.dynamodb", "PARTITION", "pk"),
    ("store.dynamodb", "SORT", "sk"),
    ("store.dynamodb", "EXPIRY", "ttl"),
    ("store.dynamodb", "OWNER", "owner"),
    ("store.dynamodb", "UNTIL_MS", "until"),
    ("store.dynamodb", "BATCH_SIZE", 100),
    ("store.dynamodb", "BATCH_ROUNDS", 8),
    ("store.dynamodb", "FIRST_PAUSE_S", 0.05),
    ("store.dynamodb", "FAILED_CONDITION", "ConditionalCheckFailedException"),
    ("store.dynamodb", "_ENDLESS", {"N": "9223372036854775808"}),
    ("store.base", "BUCKET", "s3://"),
    ("features.document_stores.conditional", "FIRST_PAUSE_S", 0.002),
    ("features.document_stores.conditional", "LONGEST_PAUSE_S", 0.2),
    ("features.document_stores.conditional", "PARALLEL_READS", 16),
    ("features.document_stores.conditional", "OWNER", "owner"),
    ("features.bucket_state.s3", "DELETED_AT_ONCE", 1_000),
    ("features.bucket_state.s3", "_MISSING", ("NoSuchKey", "404")),
    (
        "features.bucket_state.s3",
        "_LOST",
        ("PreconditionFailed", "ConditionalRequestConflict", "412", "409", "NoSuchKey", "404"),
    ),
    ("features.bucket_state.s3_names", "_STATE", "state:"),
    ("features.bucket_state.s3_names", "_LISTED", "listed:"),
    ("features.bucket_state.s3_names", "_RECORD_BYTES", 160),
    ("store.erasure", "BATCH_SIZE", 25),
    ("store.erasure", "ROUNDS", 8),
    ("store.erasure", "PAUSE_S", 0.05),
    ("store.large_items", "LEAST_BYTES", 10_000),
    ("store.large_items", "MAX_EVENT_BYTES", 1_000_000),
    ("store.large_items", "DAY_S", 86_400),
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
    ("unum_google.firestore", "SORT", "sort"),
    ("unum_google.firestore", "EXPIRY", "expires_at"),
    ("unum_google.firestore", "_ITEM", "item"),
    ("unum_google.firestore", "_LISTED_IN", "partition"),
    ("unum_google.firestore", "_LISTED_AS", "of"),
    ("unum_google.firestore", "_MEMBER", "m"),
    ("unum_google.firestore", "_ESCAPES", {".": ".!", "/": ".~"}),
    ("unum_google.firestore", "_MAX_ID_BYTES", 1_500),
    ("unum_google.firestore", "_NEVER_MS", 2**62),
    ("unum_google.firestore", "_AFTER_NAMES", " ~"),
]


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [(f"unum_runtime.{module}", name, value) for module, name, value in (*QUOTAS, *SIZES, *TIMES, *NAMES, *STORES)]
    + OTHER_DISTRIBUTIONS,
)
def test_a_value_is_what_was_decided(module: str, name: str, value: Any) -> None:
    assert getattr(import_module(module), name) == value


def test_control_aliases_are_named_in_permissions_by_these_names() -> None:
    assert {"stop", "redrive", "fork", "nudge", "delete", "pause", "sweep"} <= {each.value for each in ControlAlias}


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
    ("protocol.control.forks.fork.ForkRequest", {"visit": 1, "value": None}),
    ("protocol.control.operator_requests.Request", {"silent_ms": 0, "on": None}),
    ("protocol.control.redrives.redrive._Pair", {"has_failed": False}),
    ("protocol.control.sweep.Sweep", {"after": FIRST, "letters": ""}),
    ("features.memo.calling.CallRequest", {"arguments": None, "run": None}),
    ("protocol.delivery.lease.Claim", {"refusal": None}),
    ("features.status_events.status_events.StatusEvents", {"notes_first": False}),
    ("protocol.history.pending.Missing", {"until_ms": None, "job": None}),
    ("protocol.history.pending.EndedBranches", {"nodes": (), "arrivals": ()}),
    ("protocol.planning.advance.AtTask", {"due_ms": None}),
    ("protocol.planning.advance.Visit", {"branches": ()}),
    ("protocol.planning.evaluation.EvaluationContext", {"variables": {}, "visited": 0}),
    ("protocol.planning.plan.Invoke", {"due_ms": None, "retries": (), "job": None, "is_new": False}),
    ("protocol.planning.plan.OpenScope", {"part": None}),
    ("protocol.planning.plan.Commit", {"duration_ms": 0, "attempt": 0, "joins": None, "as_of_ms": None}),
    (
        "protocol.runtime.Call",
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
        "protocol.runtime.Runtime",
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
    kind = getattr(import_module(f"unum_runtime.{module}"), name)
    assert is_dataclass(kind)
    found = {each.name: each for each in fields(kind)}
    for field, value in defaults.items():
        each = found[field]
        default = each.default if each.default_factory is MISSING else each.default_factory()
        assert (default, type(default)) == (value, type(value)), field


@pytest.mark.parametrize(
    ("record", "defaults"),
    [
        ("protocol.control.deletions.removal.Removed", {"activities": frozenset(), "timer": False, "schedules": None}),
        (
            "protocol.control.deletions.removal.Stranded",
            {"executions": 0, "names": (), "parts": frozenset(), "last_s": 0, "is_complete": True},
        ),
        ("protocol.control.sweep_memory.Memory", {"horizon": FIRST, "running": ()}),
        ("features.status_events.status_events.Redriven", {"times": 0, "at_ms": None}),
        ("features.status_events.status_events.StatusChange", {"outcome": None, "redriven": NEVER_REDRIVEN}),
        ("protocol.control.walk.Tally", {"branches": 0, "latest_ms": 0}),
        ("features.signals.signal_slots.Signal", {"key": ""}),
        ("protocol.waiting.callback.Limits", {"timeout_s": None, "heartbeat_s": None}),
    ],
)
def test_what_is_left_out_of_a_tuple_has_its_neutral_value(record: str, defaults: dict[str, Any]) -> None:
    module, _, name = record.rpartition(".")
    kind = getattr(import_module(f"unum_runtime.{module}"), name)
    assert kind._field_defaults == defaults
    assert [*map(type, kind._field_defaults.values())] == [*map(type, defaults.values())]


@pytest.mark.parametrize(
    "record",
    [
        "protocol.control.forks.fork.ForkRequest",
        "protocol.control.operator_requests.Request",
        "features.memo.calling.CallRequest",
        "protocol.control.sweep.Sweep",
        "protocol.delivery.lease.Lease",
        "features.status_events.status_events.StatusEvents",
        "protocol.history.pending.Missing",
        "protocol.planning.task_facts.TaskFacts",
        "protocol.runtime.Runtime",
    ],
)
def test_records_with_many_fields_are_made_by_name_and_never_changed(record: str) -> None:
    module, _, name = record.rpartition(".")
    kind = getattr(import_module(f"unum_runtime.{module}"), name)
    assert all(each.kw_only for each in fields(kind))
    with pytest.raises(AttributeError):
        object.__new__(kind).another = 1


@pytest.mark.parametrize(
    ("kind", "ignored"),
    [(Invoke, {"tries"}), (CompleteBranch, {"step", "ended_ms"}), (Finish, {"step", "at_ms"})],
)
def test_effects_are_equal_whatever_they_tell_of_attempts_and_times(kind: type, ignored: set[str]) -> None:
    assert {each.name for each in fields(kind) if not each.compare} == ignored
