"""Modules of the runtime that layers have for some workflows alone."""

NEVER_NEEDED = {
    "unum_runtime.aws.activities",
    "unum_runtime.former_names",
    "unum_runtime.functions.service_function",
    "unum_runtime.store.s3",
}
"""What workflows with a table, and without Tasks that call services, do not need; and what no layer has."""

FOR_REGIONS = {"unum_runtime.model.region", "unum_runtime.protocol.planning.region"}
"""What workflows without regions do not need, beside a module that uses these."""

FOR_WAVES = {"unum_runtime.protocol.planning.wavefront", "unum_runtime.protocol.fanout.previous_results"}
"""What workflows without Tasks that wait for a result of the branch before do not need."""

FOR_SIGNALS = {
    "unum_runtime.model.mailbox",
    "unum_runtime.protocol.waiting.signal_wait",
    "unum_runtime.protocol.waiting.listeners",
    "unum_runtime.protocol.control.signal",
    "unum_runtime.protocol.control.signal_by_key",
    "unum_runtime.protocol.control.mailboxes",
}
"""What workflows without waits for signals do not need."""

FOR_RESULTS = {f"unum_runtime.protocol.control.sharing.{name}" for name in ("remembered", "calling")}
"""What workflows without memoized results do not need."""

FOR_TRACES = {"unum_runtime.functions.tracing.traced"}
"""What workflows without traces of user code do not need."""

FOR_EVENTS = {
    "unum_runtime.aws.event_bus",
    "unum_runtime.protocol.control.events.announcements",
    "unum_runtime.protocol.delivery.status_events",
}
"""What workflows without status events do not need."""

ARRIVALS = "unum_runtime.protocol.fanout.arrivals"

FOR_CERTAIN_CALLS = {
    f"unum_runtime.aws.{name}" for name in ("items", "services.kubernetes", "services.kubernetes_jobs")
}
