"""A store whose user dies at one of its calls, before the call is made or after."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from unum_runtime.model.naming import Key

SHARED = frozenset({"create", "read", "query", "add", "extend", "collect"})


class Died(BaseException):
    """The end of a sandbox: no code of the protocol catches it."""


@dataclass
class CutStore:
    """Passes calls on to `inner` until call number `dies_at`.

    Attributes:
        inner: the store.
        dies_at: number of the last call, from 0; None for none.
        is_made: the last call is made, and its answer is lost.
        calls: calls that were made, by name.
        created: keys that were given to `create`.
    """

    inner: Any
    dies_at: int | None = None
    is_made: bool = False
    calls: Counter[str] = field(default_factory=Counter)
    created: list[Key] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        called = getattr(self.inner, name)
        if name not in SHARED:
            return called

        def call(*positional: Any, **named: Any) -> Any:
            is_last = self.calls.total() == self.dies_at
            if is_last and not self.is_made:
                raise Died(name)
            self.calls[name] += 1
            if name == "create":
                self.created.append(positional[0])
            answer = called(*positional, **named)
            if is_last:
                raise Died(name)
            return answer

        return call
