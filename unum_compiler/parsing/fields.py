"""Field names of all objects in a definition: the specification's tables.

To support a new field, add its name here and its check to `data_flow_fields` or `jsonata_fields`. A field that is in no
table is a mistake; nothing is ignored silently.
"""

from collections.abc import Mapping

from unum_runtime.model.states import Language

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
