"""Rows of files that other programs wrote (`write_files`)."""

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.unit.items.conftest import BUCKET, Put
from unum_runtime.features import data_sets as items
from unum_runtime.features.data_sets import dataset_objects, parquet
from unum_runtime.features.data_sets.config import ItemReaderFailed
from unum_runtime.features.data_sets.parquet import encodings, rows

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "rows.json").read_text(encoding="utf-8"))
READABLE = ("plain", "snappy", "gzip", "lz4", "encoded", "encoded-2", "int96", "two-level")


def content(name: str) -> bytes:
    return (FILES / f"{name}.parquet").read_bytes()


def read(data: bytes) -> list[Any]:
    return [*rows(io.BytesIO(data))]


@pytest.mark.parametrize("name", READABLE)
def test_rows_are_json(name: str) -> None:
    assert read(content(name)) == EXPECTED


def refused(data: bytes) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - each caller compares the text
        read(data)
    return str(caught.value)


def test_what_is_not_supported_is_named() -> None:
    assert "compressed with BROTLI, which is not supported by this version; use one of" in refused(content("brotli"))
    assert refused(content("nan")).startswith("column x: a column has the number nan, which is not JSON")
    assert "expected a Parquet file" in refused(b"a,b\n1,2\n")
    assert "encrypted" in refused(content("plain")[:-4] + b"PARE")


def test_zstandard_needs_a_newer_python() -> None:
    pytest.importorskip("compression.zstd")
    assert read(content("zstd")) == EXPECTED


@pytest.mark.parametrize("name", READABLE)
def test_broken_files_are_refused_or_read_and_nothing_else(name: str) -> None:
    chosen, whole = random.Random(name), content(name)  # noqa: S311 - the same on every run
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(chosen.randint(1, 4)):
            broken[chosen.randrange(4, len(broken) - 4)] = chosen.randrange(256)
        try:
            rows = read(bytes(broken))
        except ValueError:
            continue
        assert json.loads(json.dumps(rows)) == rows, "what is read is JSON"


def test_a_cut_file_is_refused() -> None:
    whole = content("snappy")
    assert refused(whole[: len(whole) // 2] + whole[-8:])


def test_small_files_may_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_objects, "memory_mb", lambda: 0)
    monkeypatch.setattr("unum_runtime.features.data_sets.parquet.memory_mb", lambda: 0)
    assert "give the function more memory" in refused(content("plain"))


def test_a_map_reads_rows_from_the_bucket(s3: Any, put: Put) -> None:
    put("a.parquet", content("snappy"))
    config: dict[str, Any] = {"InputType": "PARQUET", "MaxItems": 12}
    arguments = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": BUCKET, "Key": "a.parquet"}}
    found = items.read({**arguments, "ReaderConfig": config, "Sources": True}, client=s3)
    assert found == {"Items": EXPECTED[:12], "Sources": [[f"S3://{BUCKET}/a.parquet", 12]]}
    put("b.parquet", content("brotli"))
    arguments["Parameters"] = {"Bucket": BUCKET, "Key": "b.parquet"}
    with pytest.raises(ItemReaderFailed, match=f"s3://{BUCKET}/b.parquet: compressed with BROTLI"):
        items.read({**arguments, "ReaderConfig": config}, client=s3)
    put("manifest.csv", f"s3://{BUCKET}/a.parquet\ns3://{BUCKET}/a.parquet\n".encode())
    arguments["Parameters"] = {"Bucket": BUCKET, "Key": "manifest.csv"}
    athena = {"InputType": "PARQUET", "ManifestType": "ATHENA_DATA"}
    assert items.read({**arguments, "ReaderConfig": athena}, client=s3) == EXPECTED * 2


def test_marks_of_complete_data_sets_are_no_data(s3: Any, put: Put) -> None:
    put("out/", b"")
    put("out/_SUCCESS", b"")
    put("out/part-0.parquet", content("gzip"))
    config = {"InputType": "PARQUET", "Transformation": "LOAD_AND_FLATTEN"}
    parameters = {"Bucket": BUCKET, "Prefix": "out/"}
    arguments = {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": parameters, "ReaderConfig": config}
    assert items.read(arguments, client=s3) == EXPECTED


def signs_are_dropped(patch: pytest.MonkeyPatch) -> None:
    """Differences are never negative."""
    patch.setattr(encodings, "unzigzag", abs)


def nulls_are_left_out(patch: pytest.MonkeyPatch) -> None:
    """Values move up to the rows before."""
    patch.setattr(parquet.Node, "values", lambda self, _count: iter(self.column.present))


def overlaps_are_cut(patch: pytest.MonkeyPatch) -> None:
    """Copies beyond the end are cut there."""
    patch.setattr(encodings, "_repeat", lambda out, offset, length: out.extend(out[len(out) - offset :][:length]))


def lists_stay_wrapped(patch: pytest.MonkeyPatch) -> None:
    """Elements of lists are in groups."""
    patch.setattr(parquet.Node, "_wraps", lambda _self: False)


@pytest.mark.parametrize("mistake", [signs_are_dropped, nulls_are_left_out, overlaps_are_cut, lists_stay_wrapped])
def test_mistakes_would_be_noticed(mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    differing = 0
    for name in READABLE:
        try:
            differing += read(content(name)) != EXPECTED
        except ValueError:
            differing += 1
    assert differing
