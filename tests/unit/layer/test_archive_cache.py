import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unum_constructs.layer import archive_cache, interpreters, runtime_archive
from unum_constructs.layer.archive_cache import CACHE, MAX_AGE_S, cached_archive
from unum_constructs.layer.bytecode import this_python
from unum_constructs.layer.content import IN_CODE

KEY, DATA = "a" * 64, b"archive"

IN_PROCESS = """
import sys
from unum_constructs.layer.archive_cache import cached_archive
for number in range(200):
    assert cached_archive(f"{number:064}", lambda: str(number).encode() * 9999) == str(number).encode() * 9999
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    found = tmp_path / "cache"
    monkeypatch.setenv(CACHE, str(found))
    _forget()
    return found


def _forget() -> None:
    """Do as a new process does."""
    archive_cache._archives.clear()
    archive_cache._usable.cache_clear()


def _refuse() -> bytes:
    raise AssertionError("made again")


def test_archive_is_made_once_for_all_processes(folder: Path) -> None:
    assert cached_archive(KEY, lambda: DATA) == DATA
    _forget()
    assert cached_archive(KEY, _refuse) == DATA
    assert [each.name for each in folder.iterdir()] == [KEY]


@pytest.mark.parametrize("damage", [lambda entry: entry[:-1], lambda entry: entry[40:], lambda entry: entry + b"x"])
def test_damaged_entry_is_made_again(folder: Path, damage: object) -> None:
    cached_archive(KEY, lambda: DATA)
    (folder / KEY).write_bytes(damage((folder / KEY).read_bytes()))  # type: ignore[operator]
    _forget()
    assert cached_archive(KEY, lambda: DATA) == DATA
    _forget()
    assert cached_archive(KEY, _refuse) == DATA


def test_folder_that_others_can_write_is_not_used(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert cached_archive(KEY, lambda: DATA) == DATA
    assert [*folder.iterdir()] == []


def test_file_in_place_of_folder_does_not_stop_synthesis(folder: Path) -> None:
    folder.write_text("no folder")
    assert cached_archive(KEY, lambda: DATA) == DATA


def test_full_disk_does_not_stop_synthesis(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    assert cached_archive(KEY, lambda: DATA) == DATA
    assert [*folder.iterdir()] == []


def test_empty_variable_turns_the_cache_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, "")
    assert cached_archive(KEY, lambda: DATA) == DATA
    assert not folder.exists()


def test_cache_is_in_the_cache_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CACHE)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    cached_archive(KEY, lambda: DATA)
    assert (tmp_path / "xdg" / "unum-constructs" / KEY).is_file()


def test_unused_entries_are_deleted_by_the_next_write(folder: Path) -> None:
    old, used = "b" * 64, "c" * 64
    for key in (old, used):
        cached_archive(key, lambda: DATA)
        os.utime(folder / key, (0, time.time() - 2 * MAX_AGE_S))
    _forget()
    cached_archive(used, _refuse)
    cached_archive(KEY, lambda: DATA)
    assert {each.name for each in folder.iterdir()} == {KEY, used}


def test_processes_share_the_cache_at_once(folder: Path) -> None:
    command = [sys.executable, "-c", IN_PROCESS]
    processes = [subprocess.Popen(command) for _ in range(3)]  # noqa: S603 - ours
    assert [each.wait() for each in processes] == [0, 0, 0]
    assert len([*folder.iterdir()]) == 200


def _archive_of(source: bytes) -> tuple[bytes, str]:
    python = this_python()
    assert python is not None
    return runtime_archive._archive({"python/m.py": source}, python, IN_CODE, source.hex())


def test_cached_archive_starts_no_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    first = _archive_of(b"x = 1\n")
    _forget()
    monkeypatch.setattr(runtime_archive, "compile_modules", lambda *_: _refuse())
    assert _archive_of(b"x = 1\n") == first
    with pytest.raises(AssertionError, match="made again"):
        _archive_of(b"x = 2\n")


def test_other_interpreter_makes_another_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    _archive_of(b"x = 1\n")
    _forget()
    monkeypatch.setattr(runtime_archive, "identity_of", lambda _: "other")
    monkeypatch.setattr(runtime_archive, "compile_modules", lambda *_: _refuse())
    with pytest.raises(AssertionError, match="made again"):
        _archive_of(b"x = 1\n")


def test_failed_interpreter_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise interpreters.NoBytecodeError("it fails")

    with monkeypatch.context() as patch:
        patch.setattr(runtime_archive, "compile_modules", fail)
        sources, reason = _archive_of(b"x = 1\n")
    assert reason == "it fails"
    _forget()
    bytecode, reason = _archive_of(b"x = 1\n")
    assert (reason, bytecode == sources) == ("", False)
