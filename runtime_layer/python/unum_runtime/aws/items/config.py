"""What a ``ReaderConfig`` says (developer guide, Contents of the ItemReader field)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from unum_runtime.asl.states_errors import excerpt
from unum_runtime.aws.items.reader_errors import ItemReaderFailed
from unum_runtime.model.ir import Json

DELIMITERS: Mapping[str, str] = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}
"""The ways in which ``CSVDelimiter`` may separate fields."""

FORMATS = ("CSV", "JSON", "JSONL")
"""What ``InputType`` may say of data."""

MANIFEST = "MANIFEST"
"""What ``InputType`` says of a list of objects that hold data, of which `MANIFESTS` are the kinds."""

INVENTORY, ATHENA = MANIFESTS = ("S3_INVENTORY", "ATHENA_DATA")

HEADER_LOCATIONS = ("FIRST_ROW", "GIVEN")
NOTHING, LOAD = TRANSFORMATIONS = ("NONE", "LOAD_AND_FLATTEN")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderConfig:
    """How items are read.

    Attributes:
        format: of the data, out of `FORMATS`; None where the data are no object's content.
        manifest: what the object lists, out of `MANIFESTS`; None if it holds the data itself.
        headers: names of the columns; None if the first row has them.
        delimiter: what separates columns.
        pointer: where in an object the array of items is (RFC 6901).
        most: how many items there are at most; None for any number.
        loads: of a list of objects: the items are what is in them, not the objects.
    """

    format: str | None = None
    manifest: str | None = None
    headers: tuple[str, ...] | None = None
    delimiter: str = ","
    pointer: str = ""
    most: int | None = None
    loads: bool = False

    @classmethod
    def of(cls, fields: Mapping[str, Json]) -> "ReaderConfig":
        """What `fields` say, under their names in the definition.

        Raises:
            ItemReaderFailed: a field, which may be known only at run time, is not what is allowed.
        """
        kind = _one_of(fields, "InputType", (*FORMATS, MANIFEST))
        manifest = _one_of(fields, "ManifestType", MANIFESTS) or (INVENTORY if kind == MANIFEST else None)
        return cls(
            format=None if kind == MANIFEST else kind,
            manifest=manifest,
            headers=_headers(fields),
            delimiter=DELIMITERS[_one_of(fields, "CSVDelimiter", DELIMITERS) or "COMMA"],
            pointer=_pointer(fields),
            most=_most(fields.get("MaxItems")),
            loads=_one_of(fields, "Transformation", TRANSFORMATIONS) == LOAD,
        )


def _one_of(fields: Mapping[str, Json], name: str, allowed: Collection[str]) -> str | None:
    value = fields.get(name)
    if value is None or value in allowed:
        return value
    if name == "InputType" and value == "PARQUET":
        raise ItemReaderFailed('InputType "PARQUET" is not supported by this version; write the data as CSV or JSONL')
    raise ItemReaderFailed(f"{name}: expected one of {', '.join(allowed)}; got {excerpt(value)}")


def _headers(fields: Mapping[str, Json]) -> tuple[str, ...] | None:
    location = _one_of(fields, "CSVHeaderLocation", HEADER_LOCATIONS)
    headers = fields.get("CSVHeaders")
    if location == "FIRST_ROW" or (location is None and headers is None):
        return None
    if not isinstance(headers, list) or not all(isinstance(name, str) for name in headers):
        raise ItemReaderFailed(f"CSVHeaders: expected an array of strings, got {excerpt(headers)}")
    return tuple(headers)


def _pointer(fields: Mapping[str, Json]) -> str:
    pointer = fields.get("ItemsPointer", "")
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ItemReaderFailed(f"ItemsPointer: expected a JSON pointer such as /data/items, got {excerpt(pointer)}")
    return pointer


def _most(value: Json) -> int | None:
    """How many items ``MaxItems`` allows; as recorded from AWS, 0 allows any number."""
    if isinstance(value, str) and value.isdecimal():  # what the deployment gave in place of ``${Name}`` is text
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | None):
        raise ItemReaderFailed(f"MaxItems: expected an integer, got {excerpt(value)}")
    if value is not None and value < 0:
        raise ItemReaderFailed("field MaxItems must be positive")  # AWS's own words
    return value or None
