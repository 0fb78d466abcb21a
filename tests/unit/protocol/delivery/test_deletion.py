"""Deliveries and starts that fail because their execution was deleted beside them."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain, exactly
from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDeleted, InconsistentHistory, StoreError, UnumError
from unum_runtime.model.envelope import Envelope, start_event
from unum_runtime.model.naming import Key, start_key
from unum_runtime.protocol.control.deletions.delete import delete
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.planning.existing_start import deletion_text
from unum_runtime.protocol.requests import entry_aliases

START = start_key("w", "e")
ERRORS = [StoreError("no answer"), InconsistentHistory("half of it is gone")]


class Failing:
    """A store that answers reads of the start record alone, or of what `answers` says."""

    def __init__(self, store: Any, error: UnumError, answers: Iterable[Key] = (START,)) -> None:
        self._store, self._error, self._answers = store, error, [*answers]

    def __getattr__(self, _name: str) -> Any:
        raise self._error

    def read(self, keys: Iterable[Key]) -> Any:
        wanted = [*keys]
        if not self._answers or wanted != self._answers:
            raise self._error
        return self._store.read(wanted)


def ended() -> tuple[Platform, Envelope]:
    """Return a platform whose execution has ended, and the event of its last Task."""
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.start()
    (event,) = platform.sent
    platform.deliver_all()
    return platform, event


@pytest.mark.parametrize("error", ERRORS, ids=["store", "history"])
@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_failed_delivery_is_refused_if_its_execution_was_deleted(error: UnumError, *, is_deleted: bool) -> None:
    platform, event = ended()
    if is_deleted:
        delete(platform.runtime(), "e")
    platform.store = Failing(platform.memory, error)
    said = deletion_text("w", "e") if is_deleted else str(error)
    with pytest.raises(ExecutionDeleted if is_deleted else type(error), match=exactly(said)) as raised:
        platform.deliver(event)
    assert (raised.value.__cause__ if is_deleted else raised.value) is error


@pytest.mark.parametrize("error", ERRORS, ids=["store", "history"])
@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_failed_start_is_refused_if_its_execution_was_deleted(error: UnumError, *, is_deleted: bool) -> None:
    platform, _ = ended()
    if is_deleted:
        delete(platform.runtime(), "e")
    platform.store = Failing(platform.memory, error)
    said = deletion_text("w", "e") if is_deleted else str(error)
    with pytest.raises(ExecutionDeleted if is_deleted else type(error), match=exactly(said)) as raised:
        entry_aliases.run(platform.runtime(), start_event("e", None), "request")
    assert (raised.value.__cause__ if is_deleted else raised.value) is error


def test_delivery_fails_if_the_store_does_not_answer_at_all() -> None:
    platform, event = ended()
    delete(platform.runtime(), "e")
    platform.store = Failing(platform.memory, ERRORS[0], answers=[])
    with pytest.raises(StoreError, match="no answer"):
        platform.deliver(event)


def test_a_deleted_execution_is_not_resumed() -> None:
    platform, _ = ended()
    resume(platform.runtime(), "e")
    delete(platform.runtime(), "e")
    with pytest.raises(ExecutionDeleted):
        resume(platform.runtime(), "e")


def test_another_input_starts_no_execution_of_the_same_name() -> None:
    platform, _ = ended()
    with pytest.raises(ExecutionAlreadyExists, match="another input"):
        platform.start(value=1)
    platform.start()
