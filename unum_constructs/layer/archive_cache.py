"""Archives of the runtime on disk, so that only the first synthesis on a machine strips and compiles the modules.

A key names all that decides an archive's bytes, so entries never become stale. An app synthesizes without the cache as
well: whatever goes wrong with the folder, the archive is made again.
"""

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

CACHE = "UNUM_CACHE"
"""Environment variable with the folder of cached archives. Default: ``unum-constructs`` in the user's cache folder.

Empty, it turns the cache off.
"""

MAX_AGE_S = 30 * 86_400
"""Age of an entry without use after which it is deleted."""

_DIGEST_BYTES = hashlib.sha256().digest_size

_OTHERS_WRITE = 0o022


def cached_archive(key: str, make: Callable[[], bytes]) -> bytes:
    """Return the archive with `key`: from this process, from the cache's folder, or else from `make`.

    Args:
        key: digest of all that decides the archive's bytes, in hexadecimal digits.
        make: function that makes the archive.
    """
    if key not in _archives:
        _archives[key] = _read(key) or _made(key, make())
    return _archives[key]


_archives: dict[str, bytes] = {}
"""Archives by key: the stages of an app have the same layers."""


def _read(key: str) -> bytes | None:
    """Return the entry `key`; None for a missing or damaged entry."""
    folder = _folder()
    if folder is None:
        return None
    file = folder / key
    try:
        entry = file.read_bytes()
    except OSError:
        return None
    digest, data = entry[:_DIGEST_BYTES], entry[_DIGEST_BYTES:]
    if digest != hashlib.sha256(data).digest():
        return None  # for example, of a machine that lost power
    with suppress(OSError):
        os.utime(file)  # the time of the last use
    return data


def _made(key: str, data: bytes) -> bytes:
    """Store `data` as the entry `key`, if possible; return it."""
    folder = _folder()
    if folder is not None:
        # A full disk or a folder without write permission costs the next synthesis time, and nothing else.
        with suppress(OSError):
            _write(folder / key, hashlib.sha256(data).digest() + data)
            _delete_unused(folder)
    return data


def _write(file: Path, entry: bytes) -> None:
    """Write `entry` to `file` at once: another synthesis reads all of it or none."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".new-")
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(entry)
        new.replace(file)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise


def _delete_unused(folder: Path) -> None:
    oldest = time.time() - MAX_AGE_S
    for file in folder.iterdir():
        # Another synthesis may delete the same entry.
        with suppress(OSError):
            if file.stat().st_mtime < oldest:
                file.unlink()


def _folder() -> Path | None:
    """Return the cache's folder, made if needed; None without a cache."""
    given = os.environ.get(CACHE)
    if given == "":
        return None
    try:
        return _usable(Path(given) if given else _default_folder())
    except RuntimeError:  # the user has no home
        return None


def _default_folder() -> Path:
    """Return the folder for this library in the cache folder of the user.

    Source: XDG Base Directory Specification; Apple, "File System Programming Guide"; Microsoft, "Known folders".
    """
    if sys.platform == "win32":
        of_user = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        of_user = Path.home() / "Library" / "Caches"
    else:
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        of_user = named if named.is_absolute() else Path.home() / ".cache"
    return of_user / "unum-constructs"


@cache
def _usable(folder: Path) -> Path | None:
    """Return `folder`, made if needed; None if it cannot be used.

    What is in the folder is deployed with the permissions of the functions, so nobody else may write there.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return None
    if os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & _OTHERS_WRITE):
        return None
    return folder
