"""Signals: requests to executions by name, and to all that wait for a key."""

from dataclasses import dataclass
from uuid import uuid4

from unum_runtime.model.states import Json
from unum_runtime.protocol.history.start_records import as_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    """What became of a signal.

    Attributes:
        is_new: False if a signal with this id had come before.
        is_awaited: a Task waited for it, and continues; otherwise the signal is kept for a later Task.
    """

    is_new: bool
    is_awaited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalledByKey:
    """What became of a signal by key.

    Attributes:
        is_new: False if a signal with this id had come before.
        reached: number of executions that have it by this call; later ones do not count.
        is_done: False if the time did not suffice for all executions; the control function continues by itself.
    """

    is_new: bool
    reached: int
    is_done: bool


class SignalSender:
    """Sender of signals."""

    def send(self, request: dict[str, Json]) -> Json:
        """Send `request` to the workflow, and return the answer."""
        raise NotImplementedError  # it knows the workflow's aliases

    def signal(
        self,
        execution: str,
        name: str,
        value: object = None,
        *,
        key: str | None = None,
        id: str | None = None,  # noqa: A002
    ) -> Signalled:
        """Send a signal to an execution, for the waiting Task or the next Task that waits.

        Args:
            execution: execution name.
            name: name of the signal.
            value: the result of the Task that waits, any JSON.
            key: key of the signal, for Tasks that wait with one.
            id: identity of the signal; a signal with the same one counts once. Default: a new one for each call, which
                repeated requests of this call keep.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            SignalRefused: the execution has ended, no Task waits for such a signal, or too many are kept.
            ValidationException: a name, key, id or value is invalid; the text says which.
            InvokeError: unknown whether the signal was kept; call again with the same `id`.
        """
        from unum_runtime.features.signals import signal  # noqa: PLC0415 - the caller alone needs it

        asked = signal.request(execution, name, as_json(value), id=id or str(uuid4()), key=key)
        answer = self.send(asked)
        return Signalled(is_new=answer["is_new"], is_awaited=answer["is_awaited"])

    def signal_by_key(
        self,
        name: str,
        key: str,
        value: object = None,
        *,
        id: str | None = None,  # noqa: A002
        keep_s: int | None = None,
    ) -> SignalledByKey:
        """Send a signal to every execution of the workflow that waits for it with `key`, once to each.

        Args:
            name: name of the signal.
            key: key of the signal, with which Tasks wait for it.
            value: the result of the Tasks that wait, any JSON.
            id: identity of the signal; a signal with the same one counts once in each execution, with the value of the
                first. Default: a new one for each call, which repeated requests of this call keep.
            keep_s: seconds for which executions that begin to wait later hear it, too, 60 or more, up to the retention.
                Default: a day, or the retention if that is shorter.

        Raises:
            SignalRefused: no Task waits for such a signal, or too many are kept.
            ValidationException: a name, key, id, value or time is invalid; the text says which.
            InvokeError: unknown whether the signal was kept, and whom it has reached; call again with the same `id`.
        """
        from unum_runtime.features.signals import signal_by_key  # noqa: PLC0415 - the caller alone needs it

        asked = signal_by_key.request(name, key, as_json(value), id=id or str(uuid4()), keep_s=keep_s)
        answer = self.send(asked)
        return SignalledByKey(is_new=answer["is_new"], reached=answer["reached"], is_done=answer["is_done"])
