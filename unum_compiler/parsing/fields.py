"""Field names of all objects in a definition, and bounds of numeric fields: the tables of the specification.

To support a new field, add its name here and its check to `data_flow_fields` or `jsonata_fields`. A field that is in no
table is a mistake; nothing is ignored silently.

Source: AWS Step Functions Developer Guide, "Wait workflow state", "Task workflow state", "Handling errors in Step
Functions workflows", "Using Map state in Distributed mode", "ItemBatcher (Map)".
"""

from collections.abc import Mapping
from typing import NamedTuple

from unum_compiler.parsing.object_reader import Check, Part, is_placeholder
from unum_compiler.problems import shown
from unum_runtime.asl.item_sources import MOST_BYTES
from unum_runtime.asl.jsonpath.conditions import OPERATORS
from unum_runtime.model.states import Json, Language

_SCOPE = frozenset(("Comment", "StartAt", "States"))

SCOPES: Mapping[str, frozenset[str]] = {
    "a state machine": _SCOPE | {"QueryLanguage", "Version", "TimeoutSeconds"},
    "a branch": _SCOPE,
    "an item processor": _SCOPE | {"ProcessorConfig"},
}
"""Fields of objects with states."""

_STATE = frozenset(("Comment", "QueryLanguage", "Type"))
_STEP = _STATE | {"Assign", "Next", "End"}
_LIMITS = frozenset(("TimeoutSeconds", "HeartbeatSeconds"))
_MAP = frozenset(
    (
        *("ItemProcessor", "Iterator", "ItemSelector", "ItemReader", "ItemBatcher", "ResultWriter", "Label"),
        *("MaxConcurrency", "ToleratedFailureCount", "ToleratedFailurePercentage"),
    )
)
_MAP_PATHS = frozenset(
    ("ItemsPath", "MaxConcurrencyPath", "ToleratedFailureCountPath", "ToleratedFailurePercentagePath")
)

_COMMON: Mapping[str, frozenset[str]] = {
    "Task": _STEP | _LIMITS | {"Resource", "Credentials", "Retry", "Catch"},
    "Pass": _STEP,
    "Choice": _STATE | {"Assign", "Choices", "Default"},
    "Wait": _STEP | {"Seconds", "Timestamp"},
    "Succeed": _STATE,
    "Fail": _STATE | {"Error", "Cause"},
    "Parallel": _STEP | {"Branches", "Retry", "Catch"},
    "Map": _STEP | _MAP | {"Retry", "Catch"},
}

# JSONPath: specification, "Input and Output Processing" and the table of state types and fields.
_FLOW = frozenset(("InputPath", "OutputPath"))
_RESULT = _FLOW | {"Parameters", "ResultPath"}
_WORK = _RESULT | {"ResultSelector"}

_JSONPATH: Mapping[str, frozenset[str]] = {
    "Task": _WORK | {f"{field}Path" for field in _LIMITS},
    "Pass": _RESULT | {"Result"},
    "Choice": _FLOW,
    "Wait": _FLOW | {"SecondsPath", "TimestampPath"},
    "Succeed": _FLOW,
    "Fail": frozenset(("ErrorPath", "CausePath")),
    "Parallel": _WORK,
    "Map": _WORK | _MAP_PATHS,
}

# JSONata has two fields in place of the five of JSONPath: specification, "JSONata".
_OUTPUT = frozenset(("Output",))
_CALL = _OUTPUT | {"Arguments"}

_JSONATA: Mapping[str, frozenset[str]] = {
    "Task": _CALL,
    "Pass": _OUTPUT,
    "Choice": _OUTPUT,
    "Wait": _OUTPUT,
    "Succeed": _OUTPUT,
    "Fail": frozenset(),
    "Parallel": _CALL,
    "Map": _OUTPUT | {"Items"},
}

KINDS = tuple(_COMMON)
"""Every ``Type`` of the language."""

STATES: Mapping[Language, Mapping[str, frozenset[str]]] = {
    Language.JSONPATH: {kind: _COMMON[kind] | _JSONPATH[kind] for kind in KINDS},
    Language.JSONATA: {kind: _COMMON[kind] | _JSONATA[kind] for kind in KINDS},
}
"""Fields of each type of state, by query language."""

_STRUCTURE = _STEP - {"Assign"} | {
    *("Resource", "Retry", "Catch", "Choices", "Default"),
    *("Branches", "ItemProcessor", "Iterator"),
}

DATA: Mapping[Language, Mapping[str, frozenset[str]]] = {
    language: {kind: fields - _STRUCTURE for kind, fields in kinds.items()} for language, kinds in STATES.items()
}
"""Fields of each type of state with data flow or expressions; the other fields define the control flow."""

RULES: Mapping[Language, frozenset[str]] = {
    Language.JSONPATH: frozenset(("Assign",)),
    Language.JSONATA: frozenset(("Assign", "Output")),
}
"""Data-flow fields of a Choice rule, by query language."""

CATCHERS: Mapping[Language, frozenset[str]] = {
    Language.JSONPATH: frozenset(("Assign", "ResultPath")),
    Language.JSONATA: frozenset(("Assign", "Output")),
}
"""Data-flow fields of a catcher, by query language."""


_MOST = 99_999_999  # seconds, more than three years: the limit that the pages give for most fields

SIZES = ("MaxItemsPerBatch", "MaxInputBytesPerBatch")


class _Bounds(NamedTuple):
    least: int
    most: int | None = _MOST
    is_whole: bool = True

    def __str__(self) -> str:
        kind = "an integer" if self.is_whole else "a number"
        return f"{kind} ≥ {self.least}" if self.most is None else f"{kind} from {self.least} to {self.most}"


_BOUNDS: Mapping[str, _Bounds] = {
    "Seconds": _Bounds(0),
    "TimeoutSeconds": _Bounds(1),
    "HeartbeatSeconds": _Bounds(1),
    "IntervalSeconds": _Bounds(1),
    "MaxAttempts": _Bounds(0),
    "BackoffRate": _Bounds(1, None, is_whole=False),
    "MaxDelaySeconds": _Bounds(1, 31_622_399),  # less than a leap year
    "MaxConcurrency": _Bounds(0, None),
    "ToleratedFailureCount": _Bounds(0, None),
    "ToleratedFailurePercentage": _Bounds(0, 100, is_whole=False),
    "MaxItems": _Bounds(0, 100_000_000),
    "MaxItemsPerBatch": _Bounds(0),
    "MaxInputBytesPerBatch": _Bounds(0, MOST_BYTES),
}

NUMBERS = frozenset(_BOUNDS)
"""Names of the fields that hold numbers."""

COMPARED = frozenset(name for name in OPERATORS if name.startswith("Numeric"))
"""Comparisons with numbers, which may be known at deployment too."""


def check_number(part: Part, field: str) -> None:
    """Report a value of `field` outside its bounds; placeholders are checked when a function starts."""
    bounds, value = _BOUNDS[field], part.fields[field]
    kinds = (int,) if bounds.is_whole else (int, float)
    if is_placeholder(value):
        return
    if not isinstance(value, kinds) or isinstance(value, bool):  # True is an int in Python, no number in JSON
        part.mistake(field, f"expected {bounds}, got {shown(value)}{_hint(value)}")
    elif value < bounds.least or (bounds.most is not None and value > bounds.most):
        part.mistake(field, f"expected {bounds}, got {value}")


def _hint(value: Json) -> str:
    is_jsonata = isinstance(value, str) and value.startswith("{%")
    return '; JSONata needs "QueryLanguage": "JSONata" in the state or at the top' if is_jsonata else ""


def check_batcher(part: Part, field: str, checks: Mapping[str, Check]) -> None:
    """Report mistakes in the batcher in `field`.

    Args:
        part: the Map.
        field: name of the batcher's field.
        checks: check of every field that a batcher has in the Map's query language.
    """
    batcher = part.inner(field)
    if batcher is None:
        return
    batcher.check_names(field, checks)
    for size in SIZES:
        batcher.not_both(size, f"{size}Path")
    if not batcher.has(*SIZES, *(f"{size}Path" for size in SIZES)):
        batcher.report.mistake(batcher.place, f"expected {' or '.join(SIZES)}, or both; got none")
    for name in batcher.fields.keys() & checks.keys():
        checks[name](batcher, name)
