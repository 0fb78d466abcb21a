"""Each check of callers is needed: without it, one attack succeeds."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from google.auth import jwt
from google.oauth2 import id_token

from tests.google.local_platform import ACCOUNT, STARTER, TASKS_PYTHON, tasks_server, token
from unum_google import function
from unum_google.adapters import Service
from unum_runtime.errors import NotOurEvent

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]

ADDRESS = "https://orders.example"
ATTACKS: list[tuple[str, dict[str, str]]] = [
    (STARTER, {}),
    (ACCOUNT, {"forged": "yes"}),
    (ACCOUNT, {"age": "7200"}),
    (ACCOUNT, {"issuer": "https://elsewhere.example"}),
    (ACCOUNT, {"unverified": "yes"}),
    (ACCOUNT, {"audience": "https://other.example"}),
]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    assert TASKS_PYTHON.exists(), "run `make setup`"
    with tasks_server([]) as (_, found):
        yield found


def let_in(issuer: str, email: str, claims: dict[str, str]) -> bool:
    """Return True if a function would take an event of this caller."""
    own = Service(
        definition="",
        project="",
        hosts={},
        routes={},
        address=ADDRESS,
        queues={},
        account=ACCOUNT,
        starters=(STARTER,),
        certs_url=f"{issuer}/certs",
    )
    headers = {"Authorization": f"Bearer {token(issuer, email, **{'audience': ADDRESS, **claims})}"}
    request = SimpleNamespace(
        path="/events", method="POST", headers=headers, is_json=True, get_data=lambda: b'"no event"'
    )
    try:
        return function._answer(request, own)[1] not in {401, 403}
    except function.Unauthorized:
        return False
    except NotOurEvent:  # it was read
        return True


def trusting(text: str, *_: Any, **_options: Any) -> Any:
    return jwt.decode(text, verify=False)


def for_anyone(text: str, request: Any, **options: Any) -> Any:
    return id_token_verify(text, request, **{**options, "audience": None})


id_token_verify = id_token.verify_token


def any_account(*_: Any) -> str:
    return ACCOUNT


def test_the_account_of_the_workflow_is_let_in_and_no_attack(issuer: str) -> None:
    assert let_in(issuer, ACCOUNT, {})
    assert not [attack for attack in ATTACKS if let_in(issuer, *attack)]


def test_headers_are_read_after_the_caller_is_known() -> None:
    headers = {function.TRIES: "many"}
    request = SimpleNamespace(path="/events", method="POST", headers=headers, is_json=False)
    with pytest.raises(function.Unauthorized):
        function._answer(
            request,
            Service(definition="", project="", hosts={}, routes={}, address=ADDRESS, queues={}, account=ACCOUNT),
        )


@pytest.mark.parametrize(
    ("module", "name", "broken", "attacks"),
    [
        (function, "caller_of", any_account, [0, 1, 2, 3, 4, 5]),
        (id_token, "verify_token", trusting, [1, 2, 5]),
        (id_token, "verify_token", for_anyone, [5]),
        (function, "_ISSUERS", ("https://accounts.google.com", "https://elsewhere.example"), [3]),
        (function, "_is_verified", lambda _claims: True, [4]),
    ],
)
def test_a_missing_check_lets_attacks_in(
    issuer: str, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, broken: Callable[..., Any], attacks: list[int]
) -> None:
    monkeypatch.setattr(module, name, broken)
    assert [number for number, attack in enumerate(ATTACKS) if let_in(issuer, *attack)] == attacks
