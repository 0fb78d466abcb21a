"""Archives of layers."""

import io
import zipfile

from unum_constructs.layer.archive import archive

FILES = {"python/b.py": b"b = 1\n", "python/a.py": b"a = 1\n" * 1000}


def test_an_archive_has_the_files_which_anybody_may_read() -> None:
    with zipfile.ZipFile(io.BytesIO(archive(FILES))) as zipped:
        assert {name: zipped.read(name) for name in zipped.namelist()} == FILES
        assert {entry.external_attr >> 16 for entry in zipped.infolist()} == {0o644}


def test_equal_files_are_equal_bytes_in_any_order_and_at_any_time() -> None:
    assert archive(FILES) == archive(dict(reversed(FILES.items())))
    with zipfile.ZipFile(io.BytesIO(archive(FILES))) as zipped:
        assert {entry.date_time for entry in zipped.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_files_are_compressed() -> None:
    assert len(archive(FILES)) < len(FILES["python/a.py"]) / 2
