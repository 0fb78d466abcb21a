"""The only way in which this package changes ministack: named attributes, in a known version."""

from importlib import metadata
from typing import Any

SUPPORTED = "1.5.33"


class UnsupportedMinistackError(RuntimeError):
    """The installed ministack is not the one that the patches were written for."""


def require_version() -> None:
    """Refuse every ministack but the pinned one.

    Raises:
        UnsupportedMinistackError: another version is installed.
    """
    installed = metadata.version("ministack")
    if installed != SUPPORTED:
        raise UnsupportedMinistackError(
            f"ministack: found version {installed}, the patches fit {SUPPORTED} alone; "
            "install emulator/requirements.txt into the emulator's environment"
        )


def replace(owner: Any, name: str, replacement: Any) -> Any:
    """Put `replacement` in the place of `owner.name`.

    Returns:
        What stood there, for replacements that call it.

    Raises:
        UnsupportedMinistackError: there is no such attribute, so the patch would have no effect.
    """
    if not hasattr(owner, name):
        raise UnsupportedMinistackError(f"{owner!r}: has no attribute {name!r}; the patches fit ministack {SUPPORTED}")
    original = getattr(owner, name)
    setattr(owner, name, replacement)
    return original
