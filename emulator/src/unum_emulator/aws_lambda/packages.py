"""Unpacked deployment packages, and the managed Python runtime's libraries.

AWS unpacks a function's package to /var/task and all its layers, in order, into one /opt, both read-only
(https://docs.aws.amazon.com/lambda/latest/dg/chapter-layers.html). Here both are private directories named after their
content, unpacked once and shared by all sandboxes.
"""

import hashlib
import io
import re
import shutil
import stat
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

MANAGED = ("awslambdaric", "boto3")
_REQUIREMENT = re.compile(r"^[A-Za-z0-9._-]+")
_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class PackageStore:
    """Directories of unpacked archives, by hash."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        root.mkdir(parents=True, exist_ok=True)

    def unpack(self, archives: Sequence[bytes]) -> Path:
        """Return a read-only directory with all archives; files of later archives replace earlier ones."""
        digest = hashlib.sha256()
        for archive in archives:
            digest.update(hashlib.sha256(archive).digest())
        target = self._root / digest.hexdigest()[:32]
        # Several sandboxes of a function may start at once.
        with self._lock:
            if not target.exists():
                self._unpack(archives, target)
        return target

    def _unpack(self, archives: Sequence[bytes], target: Path) -> None:
        staging = Path(tempfile.mkdtemp(dir=self._root))
        for archive in archives:
            with zipfile.ZipFile(io.BytesIO(archive)) as opened:
                _extract(opened, staging)
        _make_read_only(staging)
        # A rename is atomic: an interrupted unpacking never leaves a partial directory under the final name.
        staging.rename(target)


def _extract(archive: zipfile.ZipFile, target: Path) -> None:
    for member in archive.infolist():
        path = Path(archive.extract(member, target))
        # `zipfile` ignores the permissions of members, but extensions and executables need them.
        mode = (member.external_attr >> 16) & 0o777
        if mode and path.is_file():
            path.chmod(mode | stat.S_IRUSR)


def _make_read_only(root: Path) -> None:
    """Remove write permissions, except in each folder's `__pycache__`.

    Python then compiles a module once, instead of at every cold start; AWS has no such folders.
    """
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        if any(folder.glob("*.py")):
            (folder / "__pycache__").mkdir(exist_ok=True)
    for path in root.rglob("*"):
        if path.name != "__pycache__":
            path.chmod(path.stat().st_mode & ~_WRITE_BITS)


def discard(root: Path) -> None:
    """Delete a tree with read-only folders."""
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())]:
        folder.chmod(0o700)
    shutil.rmtree(root, ignore_errors=True)


def link_managed_runtime(target: Path) -> Path:
    """Fill `target` with links to the managed runtime's libraries only.

    A function that lacks a library must fail here as on AWS, even if the emulator's environment has the library.
    """
    target.mkdir(parents=True)
    for name in _requirements(MANAGED):
        for entry, origin in _top_level(metadata.distribution(name)):
            (target / entry).symlink_to(origin)
    return target


def _requirements(roots: Sequence[str]) -> set[str]:
    """Return `roots` with all their requirements, without extras."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        required = metadata.requires(name) or []
        waiting.extend(match[0] for line in required if "extra ==" not in line and (match := _REQUIREMENT.match(line)))
    return found


def _top_level(distribution: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the entries of site-packages that belong to a distribution."""
    entries = {file.parts[0] for file in distribution.files or [] if file.parts[0] not in {"..", "__pycache__"}}
    for entry in sorted(entries):
        yield entry, Path(str(distribution.locate_file(entry)))
