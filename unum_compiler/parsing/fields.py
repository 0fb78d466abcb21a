"""Which fields the parts of a definition have: the tables of the Amazon States Language specification.

Whatever is in no table of a part is a mistake; nothing is ignored in silence.
"""

from collections.abc import Mapping

from unum_runtime.model.ir import Language

_SCOPE = frozenset(("Comment", "StartAt", "States"))

SCOPES: Mapping[str, frozenset[str]] = {
    "a state machine": _SCOPE | {"QueryLanguage", "Version", "TimeoutSeconds"},
    "a branch": _SCOPE,
    "an item processor": _SCOPE | {"ProcessorConfig"},
}
"""The fields of what has states."""

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
"""Every ``Type`` that the language has."""

STATES: Mapping[Language, Mapping[str, frozenset[str]]] = {
    Language.JSONPATH: {kind: _COMMON[kind] | _JSONPATH[kind] for kind in KINDS},
    Language.JSONATA: {kind: _COMMON[kind] | _JSONATA[kind] for kind in KINDS},
}
"""The fields of each type of state, by query language."""

_STRUCTURE = _STEP - {"Assign"} | {
    *("Resource", "Retry", "Catch", "Choices", "Default"),
    *("Branches", "ItemProcessor", "Iterator"),
}

DATA: Mapping[Language, Mapping[str, frozenset[str]]] = {
    language: {kind: fields - _STRUCTURE for kind, fields in kinds.items()} for language, kinds in STATES.items()
}
"""Those of them that say how data flow, or that may hold an expression."""

RULES: Mapping[Language, frozenset[str]] = {
    Language.JSONPATH: frozenset(("Assign",)),
    Language.JSONATA: frozenset(("Assign", "Output")),
}
"""What a Choice rule may say about data beside its condition."""

CATCHERS: Mapping[Language, frozenset[str]] = {
    Language.JSONPATH: frozenset(("Assign", "ResultPath")),
    Language.JSONATA: frozenset(("Assign", "Output")),
}
"""What a catcher may say about data."""
