"""Senders that the timer trusts, by the id of their role or by the name of their session."""

import json

import pytest

from unum_runtime.aws.senders import OWN_SESSION, Senders, parse_senders


@pytest.fixture
def senders(monkeypatch: pytest.MonkeyPatch) -> Senders:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "forwarder")
    return parse_senders(
        json.dumps({"workflow": "w", "trusted": ["AROAHANDLER", ":control", OWN_SESSION], "edges": {}})
    )


@pytest.mark.parametrize("sender", ["AROAHANDLER:handler", "AROAHANDLER:other", "AROAX:control", "AROAX:forwarder"])
def test_trusted_sender_states_the_origin(senders: Senders, sender: str) -> None:
    assert senders.origin(sender, "AROATASK:task") == "AROATASK:task"


@pytest.mark.parametrize(
    "sender",
    [
        "AROATASK:task",
        "AROATASK:AROAHANDLER",
        "control",
        "forwarder",
        "AROAX:",
        ":",
        "",
        "AROATASK:control:x",
        "x:handler",
    ],
)
def test_other_senders_are_their_own_origin(senders: Senders, sender: str) -> None:
    assert senders.origin(sender, "AROAHANDLER:handler") == sender


def test_function_without_a_name_trusts_no_session_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    senders = parse_senders(json.dumps({"workflow": "w", "trusted": [OWN_SESSION]}))
    assert not senders.trusts("AROAX:")
    assert not senders.trusts("AROAX")
