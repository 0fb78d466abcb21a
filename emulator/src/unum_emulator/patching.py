"""Replacement of named ministack attributes, in one pinned version."""

from importlib import metadata
from typing import Any

SUPPORTED = "1.5.33"


class UnsupportedMinistackError(RuntimeError):
    """Installed ministack differs from the version that the corrections fit."""


def require_version() -> None:
    """Raise UnsupportedMinistackError unless the pinned ministack version is installed."""
    installed = metadata.version("ministack")
    if installed != SUPPORTED:
        raise UnsupportedMinistackError(
            f"ministack: expected version {SUPPORTED}, got {installed}; "
            "install emulator/requirements.txt into the emulator's environment"
        )


def replace(owner: Any, name: str, replacement: Any) -> Any:
    """Replace `owner.name` and return the original.

    Returns:
        The original attribute, for replacements that call it.

    Raises:
        UnsupportedMinistackError: the attribute does not exist, so the correction would have no effect.
    """
    if not hasattr(owner, name):
        raise UnsupportedMinistackError(f"{owner!r}: expected an attribute {name!r}, as in ministack {SUPPORTED}")
    original = getattr(owner, name)
    setattr(owner, name, replacement)
    return original
