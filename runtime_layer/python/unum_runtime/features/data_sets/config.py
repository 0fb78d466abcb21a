"""Parser of ``ReaderConfig`` (Developer Guide, "ItemReader (Map)", Contents of the ItemReader field)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from unum_runtime.asl.states_errors import excerpt
from unum_runtime.errors import StatesError
from unum_runtime.model.states import Json

DELIMITERS: Mapping[str, str] = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}
"""Field separators by ``CSVDelimiter``."""

FORMATS = ("CSV", "JSON", "JSONL", "PARQUET")
"""Data formats for ``InputType``."""

MANIFEST = "MANIFEST"
"""``InputType`` of an object that lists data objects; `MANIFESTS` are its kinds."""

INVENTORY, ATHENA = MANIFESTS = ("S3_INVENTORY", "ATHENA_DATA")

HEADER_LOCATIONS = ("FIRST_ROW", "GIVEN")
NOTHING, LOAD = TRANSFORMATIONS = ("NONE", "LOAD_AND_FLATTEN")


class ItemReaderFailed(StatesError):
    """``States.ItemReaderFailed``: items of a Map cannot be read."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.ItemReaderFailed", cause)


class ResultWriterFailed(StatesError):
    """``States.ResultWriterFailed``: results of a Map cannot be written."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.ResultWriterFailed", cause)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderConfig:
    """Parsed reader configuration.

    Attributes:
        format: data format, one of `FORMATS`; None for lists of objects, which have no content.
        manifest: kind of manifest, one of `MANIFESTS`; None if the object holds the data itself.
        headers: column names; None if the first row holds them.
        delimiter: column separator.
        pointer: JSON pointer to the array of items in an object (RFC 6901).
        max_items: maximum of items; None for no limit.
        flattens: True if the contents of listed objects are the items, instead of the objects.
    """

    format: str | None = None
    manifest: str | None = None
    headers: tuple[str, ...] | None = None
    delimiter: str = ","
    pointer: str = ""
    max_items: int | None = None
    flattens: bool = False

    @classmethod
    def parse(cls, fields: Mapping[str, Json]) -> "ReaderConfig":
        """Parse `fields`, named as in the definition.

        Raises:
            ItemReaderFailed: a field has an invalid value; expressions give values only at run time.
        """
        kind = _choice(fields, "InputType", (*FORMATS, MANIFEST))
        manifest = _choice(fields, "ManifestType", MANIFESTS) or (INVENTORY if kind == MANIFEST else None)
        return cls(
            format=None if kind == MANIFEST else kind,
            manifest=manifest,
            headers=_headers(fields),
            delimiter=DELIMITERS[_choice(fields, "CSVDelimiter", DELIMITERS) or "COMMA"],
            pointer=_pointer(fields),
            max_items=_max_items(fields.get("MaxItems")),
            flattens=_choice(fields, "Transformation", TRANSFORMATIONS) == LOAD,
        )


def _choice(fields: Mapping[str, Json], name: str, allowed: Collection[str]) -> str | None:
    value = fields.get(name)
    if value is None or value in allowed:
        return value
    raise ItemReaderFailed(f"{name}: expected one of {', '.join(allowed)}; got {excerpt(value)}")


def _headers(fields: Mapping[str, Json]) -> tuple[str, ...] | None:
    location = _choice(fields, "CSVHeaderLocation", HEADER_LOCATIONS)
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


def _max_items(value: Json) -> int | None:
    """Return the limit in ``MaxItems``; None for 0, which AWS treats as no limit (recorded)."""
    if isinstance(value, str) and value.isdecimal():  # CloudFormation replaces ``${Name}`` by text
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | None):
        raise ItemReaderFailed(f"MaxItems: expected an integer, got {excerpt(value)}")
    if value is not None and value < 0:
        raise ItemReaderFailed("field MaxItems must be positive")  # AWS's text, as recorded
    return value or None
