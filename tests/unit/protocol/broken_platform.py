"""A platform whose functions fail with what is broken, until it is mended."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.protocol.map_platform import deliver_all, deployed
from tests.unit.protocol.platform import Platform
from unum_runtime.model.checkpoint import Status
from unum_runtime.protocol.control.redrives.redrive import redrive

BROKEN: set[Any] = set()


@pytest.fixture(autouse=True)
def broken() -> Iterator[set[Any]]:
    """Return the error of a failing function."""
    BROKEN.clear()
    yield BROKEN
    BROKEN.clear()


def fragile(event: Any) -> Any:
    if event in BROKEN:
        raise ValueError(event)
    return event


def failed(definition: dict[str, Any], value: Any, *broken: Any, **functions: Callable[[Any], Any]) -> Platform:
    """An execution that has failed; what it failed of is mended."""
    platform = deployed(definition, **functions)  # type: ignore[arg-type]  # by name
    BROKEN.update(broken)
    platform.start("e", value)
    deliver_all(platform)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    BROKEN.clear()
    platform.calls.clear()
    return platform


def go_on(platform: Platform) -> None:
    redrive(platform.runtime(), "e")
    deliver_all(platform)
