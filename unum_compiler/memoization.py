"""Conditions under which executions share the results of functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import parse
from unum_runtime.model.states import MemoScope


class _HasSeconds(Protocol):
    """A duration of the CDK, which the compiler does not import."""

    def to_seconds(self) -> int | float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Memoization:
    """Conditions under which executions share the results of a function.

    Attributes:
        key: reference path, or paths, into the function's event, such as ``$.image``: events with equal values there
            have one result. A Task whose event lacks a value fails with ``States.ParameterPathFailure``. None for the
            whole event.
        version: name of the logic. Results then outlive deployments, until you give another version. None for the
            published version of the function, so that a deployment of other code or settings forgets them.
        lifetime: lifetime of each result, in whole seconds from 1 on: a `timedelta`, or a `Duration` of the CDK. None
            for the workflow's retention.
        scope: who shares: ``FUNCTION``, Tasks of the same handler in one workflow; ``WORKFLOW``, all Tasks of the
            workflow with the same version; ``TABLE``, all Tasks with the same version in all workflows that use the
            table. The last two need a `version`, which is then what identifies the logic.

    Raises:
        ValueError: an attribute is invalid; the text names it, with the expected and the actual value.
    """

    key: str | Sequence[str] | None = None
    version: str | None = None
    lifetime: timedelta | _HasSeconds | None = None
    scope: MemoScope = MemoScope.FUNCTION

    def __post_init__(self) -> None:
        if self.scope not in [*MemoScope]:
            raise ValueError(
                f"memoize: expected scope to be one of {[str(each) for each in MemoScope]}, got {self.scope!r}"
            )
        object.__setattr__(self, "scope", MemoScope(self.scope))
        if self.version is not None and (type(self.version) is not str or not self.version):
            raise ValueError(f'memoize: expected version to be a text such as "2", or None, got {self.version!r}')
        if self.version is None and self.scope is not MemoScope.FUNCTION:
            message = f"memoize: expected a version with scope {str(self.scope)!r}, got none"
            raise ValueError(f"{message}; it identifies the logic that several functions share")
        _ = self.places, self.lifetime_s

    @property
    def places(self) -> tuple[tuple[str | int, ...], ...]:
        """Names and indexes on the way to each value of `key`."""
        paths = self.key if isinstance(self.key, list | tuple) else [] if self.key is None else [self.key]
        return tuple(map(_keys_of, paths))

    @property
    def lifetime_s(self) -> int | None:
        """Lifetime in seconds; None for the workflow's retention."""
        if self.lifetime is None:
            return None
        whole = "whole seconds, at least one, as a timedelta or Duration"
        if isinstance(self.lifetime, timedelta):
            seconds: int | float = self.lifetime.total_seconds()
        else:
            seconds = getattr(self.lifetime, "to_seconds", lambda: 0)()
        if seconds < 1 or seconds != int(seconds):
            raise ValueError(f"memoize: expected lifetime to be {whole}, got {self.lifetime!r}")
        return int(seconds)


def _keys_of(path: str) -> tuple[str | int, ...]:
    expected = 'memoize: expected key to be a reference path into the event, such as "$.image"'
    try:
        parsed = parse(path)
    except (PathSyntaxError, TypeError) as error:
        raise ValueError(f"{expected}, got {path!r}: {error}") from None
    if parsed.is_context or parsed.variable is not None or not parsed.is_reference:
        raise ValueError(f"{expected}, got {path!r}")
    return parsed.keys or ()
