"""What a branch reads of the fan-out around it: the outcome that opened it must be there, and be that."""

from typing import Any

import pytest

from tests.unit.protocol.map_platform import mapped
from tests.unit.protocol.platform import Platform
from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.model.naming import Key, Scope, checkpoint_key
from unum_runtime.protocol.fanout.lanes import read_origin


def opened(value: Any) -> tuple[Platform, Scope, Key]:
    """Return a platform whose Map has begun, its scope, and the key of the outcome that opened it."""
    first = {"A": {"Type": "Task", "Resource": "A", "Next": "M"}}
    definition = {"StartAt": "A", "States": first | mapped("B")["States"]}
    platform = Platform.of(definition, A=lambda event: event, B=lambda event: event)
    platform.start("e", value)
    name = platform.sent[0].name
    scope = Scope.around(name.execution, name.frames)
    return platform, scope, checkpoint_key("w", scope.origin)


def test_the_fan_out_is_as_its_origin_committed_it() -> None:
    platform, scope, _ = opened([4, 5])
    found = read_origin(platform.runtime(), scope)
    assert found.scope == scope
    assert found.scope.size == 2


def test_an_origin_that_is_gone_is_named() -> None:
    platform, scope, key = opened([4, 5])
    del platform.memory._items[key]
    with pytest.raises(StoreError) as error:
        read_origin(platform.runtime(), scope)
    assert str(error.value) == f"{scope.origin}: the checkpoint that opened 'M' is missing; has it expired?"


def test_an_origin_that_opens_another_fan_out_is_named() -> None:
    platform, scope, key = opened([4, 5])
    item, expires_at_s = platform.memory._items[key]
    platform.memory._items[key] = ({**item, "value": "[1,2,3]"}, expires_at_s)
    with pytest.raises(InconsistentHistory) as error:
        read_origin(platform.runtime(), scope)
    assert str(error.value).startswith(f"{scope.origin}: expected that it opens {scope}, found OpenScope(")
