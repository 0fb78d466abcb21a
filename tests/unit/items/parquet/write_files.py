"""Write `files/`: small Parquet files by pyarrow, and the rows that they must have, computed from their input.

Run it with pyarrow beside the development environment: ``uv run --with pyarrow python -m
tests.unit.items.parquet.write_files``. The tests do not need pyarrow.
"""

import base64
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent / "files"
COUNT = 25
ENCODINGS = {
    "int": "DELTA_BINARY_PACKED",
    "double": "BYTE_STREAM_SPLIT",
    "text": "DELTA_BYTE_ARRAY",
    "bytes": "DELTA_LENGTH_BYTE_ARRAY",
    "bool": "RLE",
}
START = datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)


def row(index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of one row, and the JSON that they must become."""
    moment = START + timedelta(days=index * 400, milliseconds=index)
    day, clock = date(1970, 1, 1) + timedelta(index * 1000 - 5000), time(index % 24, 5, 9, index * 1000)
    price, content = Decimal(index * 1234567 - 10_000_000).scaleb(-3), bytes(range(index))
    plain = {
        "int": (index - 12) * 3**30,
        "small": index - 12,
        "unsigned": 2**64 - 1 - index,
        "float": index / 4,
        "double": index * 1e300,
        "text": "é" * index,
        "name": "abc"[index % 3],
        "bool": index % 3 == 0,
        "maybe": None if index % 4 else index,
        "list": [[], [1], [None, 2, 3]][index % 3],
        "lists": [[["a"], []], [], None][index % 3],
        "struct": {"x": index, "y": {"z": None if index % 2 else "deep"}},
        "structs": [{"k": n, "v": [str(n)] * n} for n in range(index % 4)],
    }
    own = {
        "at": moment,
        "day": day,
        "time": clock,
        "price": price,
        "bytes": content,
        "map": [("a", index), ("b", None)],
    }
    forms = {
        "at": (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1),
        "day": day.isoformat(),
        "time": clock.isoformat("microseconds"),
        "price": str(price),
        "bytes": base64.b64encode(content).decode(),
        "map": {"a": index, "b": None},
    }
    return plain | own, plain | forms


def main() -> None:
    """Write the files."""
    pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")  # installed for this script alone

    types = {
        "int": pa.int64(),
        "small": pa.int8(),
        "unsigned": pa.uint64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "text": pa.string(),
        "name": pa.string(),
        "bool": pa.bool_(),
        "maybe": pa.int32(),
        "bytes": pa.binary(),
        "list": pa.list_(pa.int32()),
        "lists": pa.list_(pa.list_(pa.string())),
        "struct": pa.struct({"x": pa.int32(), "y": pa.struct({"z": pa.string()})}),
        "structs": pa.list_(pa.struct({"k": pa.int32(), "v": pa.list_(pa.string())})),
        "at": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "time": pa.time64("us"),
        "price": pa.decimal128(20, 3),
        "map": pa.map_(pa.string(), pa.int32()),
    }
    rows = [row(index) for index in range(COUNT)]
    table = pa.Table.from_pylist([given for given, _ in rows], schema=pa.schema(types))
    encoded = {"use_dictionary": False, "column_encoding": ENCODINGS}
    kinds: dict[str, dict[str, Any]] = {
        "plain": {"compression": "none", "use_dictionary": False},
        "snappy": {"compression": "snappy", "row_group_size": 10},
        "gzip": {"compression": "gzip", "data_page_version": "2.0"},
        "lz4": {"compression": "lz4", "data_page_size": 40},
        "encoded": {"compression": "snappy", **encoded},
        "encoded-2": {"compression": "none", "data_page_version": "2.0", **encoded},
        "int96": {"compression": "snappy", "use_deprecated_int96_timestamps": True, "version": "1.0"},
        "two-level": {"compression": "snappy", "use_compliant_nested_type": False},
        "zstd": {"compression": "zstd"},
        "brotli": {"compression": "brotli"},
    }
    for name, options in kinds.items():
        parquet.write_table(table, FILES / f"{name}.parquet", **options)
    parquet.write_table(pa.table({"x": [float("nan")]}), FILES / "nan.parquet")
    expected = json.dumps([found for _, found in rows], ensure_ascii=False, indent=1)
    (FILES / "rows.json").write_text(expected + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
