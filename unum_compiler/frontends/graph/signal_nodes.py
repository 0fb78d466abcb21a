"""Nodes that wait for a signal."""

from unum_compiler.frontends.graph.graph_expressions import Expression, Reference, payload
from unum_compiler.frontends.graph.kinds import check_text, number_field
from unum_compiler.frontends.graph.service_nodes import Call
from unum_compiler.parsing.signal_waits import PREFIX
from unum_runtime.model.mailbox import KEY_RULE, is_key, is_signal_name
from unum_runtime.model.naming import NAME_RULE


def wait_for(
    signal: str,
    *,
    key: str | Expression | None = None,
    name: str | None = None,
    timeout_s: int | Reference | None = None,
) -> Call:
    """Return a node that waits for a signal, whose value is the result.

    Args:
        signal: name of the signal, which senders say (`Client.signal`).
        key: text that tells several waits for one signal apart, such as those in the branches of a Map: senders say the
            same one. By default the signals have no key.
        name: name of the node; by default that of the signal.
        timeout_s: time limit, in seconds; then the node fails with ``States.Timeout``.

    Raises:
        TypeError: an argument has another kind.
        ValueError: no signal or key can be so called.
    """
    node = signal if name is None else name
    check_text(node, "signal", signal)
    if not is_signal_name(signal):
        raise ValueError(f"{node!r}: signal: expected {NAME_RULE}, got {signal!r}")
    if not isinstance(key, Expression) and key is not None and not is_key(key):
        raise ValueError(f"{node!r}: key: expected {KEY_RULE}, or a place, got {key!r}")
    keyed = {} if key is None else {"Parameters": payload({"Key": key})}
    limit = number_field(node, "timeout_s", "TimeoutSeconds", timeout_s, 1)
    return Call(name=node, fields={"Resource": f"{PREFIX}{signal}", **keyed, **limit})
