"""Administrators: requests that find no alias for their kind go to the one that takes all kinds."""

import json
from dataclasses import dataclass, field

import pytest

from unum_client.control import Control
from unum_runtime.errors import RouteGone
from unum_runtime.model.states import Json

FUNCTION = "arn:aws:lambda:eu-west-1:111122223333:function:control"


@dataclass
class Aliases:
    """Lambda with some aliases of a control function; it answers each request with the alias's name.

    Attributes:
        names: aliases that this caller may invoke.
        is_denied: True if Lambda says of others that they are forbidden, False if it says that they do not exist.
        invoked: names of aliases in the order of requests.
    """

    names: set[str]
    is_denied: bool = False
    invoked: list[str] = field(default_factory=list)

    def call(self, address: str, payload: bytes) -> Json:
        name = address.removeprefix(f"{FUNCTION}:")
        self.invoked.append(name)
        if name not in self.names:
            raise RouteGone(address, OSError("refused"), is_deleted=not self.is_denied)
        return {"digest": name, "control": json.loads(payload)["control"]}


def digest(aliases: Aliases) -> str:
    """Ask which definition is deployed, a question for the alias of nudges."""
    return Control(caller=aliases, control_alias=FUNCTION, workflow="Flow").deployed_digest()


def test_narrow_role_invokes_its_alias_alone() -> None:
    aliases = Aliases({"nudge-Flow"})
    assert digest(aliases) == "nudge-Flow"
    assert aliases.invoked == ["nudge-Flow"]


@pytest.mark.parametrize("is_denied", [False, True])
def test_administrator_invokes_the_alias_for_all_kinds(*, is_denied: bool) -> None:
    aliases = Aliases({"operate-Flow"}, is_denied=is_denied)
    assert digest(aliases) == "operate-Flow"
    assert aliases.invoked == ["nudge-Flow", "operate-Flow"]


def test_refusal_names_the_alias_that_a_narrow_role_would_need() -> None:
    with pytest.raises(RouteGone, match="nudge-Flow"):
        digest(Aliases(set()))
