"""A definition for every field that the compiler knows; the names come from the compiler's own tables."""

from collections.abc import Callable, Iterator
from typing import Any

from unum_compiler.parsing import datasets, fields, read_machine
from unum_compiler.parsing.fields import CATCHERS, KINDS, RULES, SCOPES, STATES
from unum_runtime.model.states import Json, Language

SERVICE = "arn:aws:states:::"
FUNCTION = "arn:aws:lambda:eu-west-1:111111111111:function:other"
INNER: dict[str, Any] = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
PROCESSOR: dict[str, Any] = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **INNER}
CALL = {Language.JSONPATH: "Parameters", Language.JSONATA: "Arguments"}
RULE: dict[Language, dict[str, Json]] = {
    Language.JSONPATH: {"Variable": "$.a", "IsPresent": True, "Next": "Z"},
    Language.JSONATA: {"Condition": "{% true %}", "Next": "Z"},
}
CATCHER: dict[str, Json] = {"ErrorEquals": ["E"], "Next": "Z"}


def definition(state: Json, language: Language = Language.JSONPATH, **fields: Json) -> Json:
    """Return a state machine with the state A, which may go on to Z."""
    own = {"QueryLanguage": str(language), "StartAt": "A", **fields}
    # Z is reached by a Choice at the beginning, if A does not lead there.
    first: dict[str, Json] = {"Type": "Choice", "Choices": [{**RULE[language], "Next": "A"}], "Default": "Z"}
    return {**own, "StartAt": "First", "States": {"First": first, "A": state, "Z": {"Type": "Succeed"}}}


def fields_of_states() -> Iterator[tuple[Language, str, str]]:
    """Yield language, type and field of every field of a state."""
    for language, kinds in STATES.items():
        yield from ((language, kind, field) for kind in KINDS for field in sorted(kinds[kind]))


def with_field(language: Language, kind: str, field: str) -> Json:
    """Return a definition with `field` in a state of type `kind`."""
    base = {**_BASES[kind], **_own_base(kind, language)}
    ends = {} if kind in ("Choice", "Succeed", "Fail") else {"End": True}
    for gone in _REPLACED.get(field, ()):
        base.pop(gone, None)
        ends.pop(gone, None)
    value = _special(language, kind).get(field, _VALUES.get(field))
    extra = {"Resource": FUNCTION} if field == "Credentials" else {}
    return definition({"Type": kind, **base, **ends, **extra, **({} if field == "Type" else {field: value})}, language)


def _own_base(kind: str, language: Language) -> dict[str, Json]:
    return {"Choices": [RULE[language]]} if kind == "Choice" else {}


def _special(language: Language, kind: str) -> dict[str, Json]:
    """Return values that depend on the query language or the type."""
    call = CALL[language]
    is_jsonata = language is Language.JSONATA
    return {
        "QueryLanguage": str(language),
        "Choices": [RULE[language]],
        "Parameters": {"a": 1} if kind == "Map" else {"a.$": "$.b"},
        "ItemSelector": {"v": "{% $states.context.Map.Item.Value %}"} if is_jsonata else {"v.$": "$$.Map.Item.Value"},
        "ItemReader": {
            "Resource": f"{SERVICE}s3:getObject",
            call: {"Bucket": "b", "Key": "k"},
            "ReaderConfig": {"InputType": "JSON"},
        },
        "ResultWriter": {"Resource": f"{SERVICE}s3:putObject", call: {"Bucket": "b"}},
    }


_BASES: dict[str, dict[str, Json]] = {
    "Task": {"Resource": "f"},
    "Pass": {},
    "Choice": {},
    "Wait": {"Seconds": 1},
    "Succeed": {},
    "Fail": {},
    "Parallel": {"Branches": [INNER]},
    "Map": {"ItemProcessor": PROCESSOR},
}
_REPLACED = {
    "Next": ("End",),
    "Iterator": ("ItemProcessor",),
    "Timestamp": ("Seconds",),
    "SecondsPath": ("Seconds",),
    "TimestampPath": ("Seconds",),
}
_PATHS = ("InputPath", "OutputPath", "ItemsPath", "ResultPath", "ErrorPath", "SecondsPath", "TimestampPath")
_LIMITS = (
    "TimeoutSeconds",
    "HeartbeatSeconds",
    "MaxConcurrency",
    "ToleratedFailureCount",
    "ToleratedFailurePercentage",
)
_VALUES: dict[str, Json] = {
    **dict.fromkeys(_PATHS, "$.a"),
    **dict.fromkeys(_LIMITS, 5),
    **{f"{field}Path": "$.n" for field in _LIMITS},
    "Arguments": {"a": "{% 1 %}"},
    "Assign": {"x": 1},
    "Branches": [INNER],
    "Catch": [CATCHER],
    "Cause": "c",
    "CausePath": "States.Format('{}', $.c)",
    "Comment": "c",
    "Credentials": {"RoleArn": "arn:aws:iam::111111111111:role/r"},
    "Default": "Z",
    "End": True,
    "Error": "E",
    "ItemBatcher": {"MaxItemsPerBatch": 2},
    "ItemProcessor": PROCESSOR,
    "Items": "{% [1, 2] %}",
    "Iterator": PROCESSOR,
    "Label": "l",
    "Next": "Z",
    "Output": "{% $states.input %}",
    "Resource": "f",
    "Result": {"a": 1},
    "ResultSelector": {"a.$": "$.b"},
    "Retry": [{"ErrorEquals": ["E"]}],
    "Seconds": 1,
    "Timestamp": "2016-03-14T01:59:00Z",
}

TOP: dict[str, Json] = {"Comment": "c", "Version": "1.0", "TimeoutSeconds": 9, "QueryLanguage": "JSONPath"}
"""Values of the fields of a state machine, besides its states."""

RETRIER: dict[str, Json] = {
    "Comment": "c",
    "ErrorEquals": ["E"],
    "IntervalSeconds": 2,
    "MaxAttempts": 1,
    "BackoffRate": 1.5,
    "MaxDelaySeconds": 9,
    "JitterStrategy": "FULL",
}
READER: dict[str, tuple[Json, dict[str, Json]]] = {
    "InputType": ("JSON", {}),
    "ManifestType": ("ATHENA_DATA", {"InputType": "JSONL"}),
    "Transformation": ("LOAD_AND_FLATTEN", {"InputType": "JSON"}),
    "CSVDelimiter": ("TAB", {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}),
    "CSVHeaderLocation": ("FIRST_ROW", {"InputType": "CSV"}),
    "CSVHeaders": (["a"], {"InputType": "CSV", "CSVHeaderLocation": "GIVEN"}),
    "ItemsPointer": ("/a", {"InputType": "JSON"}),
    "MaxItems": (5, {"InputType": "JSON"}),
    "MaxItemsPath": ("$.n", {"InputType": "JSON"}),
}
"""A value of each field of ``ReaderConfig``, and the fields that it needs."""

FIELDS_OF_PARTS: dict[str, tuple[str, ...]] = {
    "a state machine": tuple(sorted(SCOPES["a state machine"])),
    "a retrier": tuple(sorted(read_machine._RETRIER)),
    "a catcher": tuple(sorted({*read_machine._CATCHER, *CATCHERS[Language.JSONPATH], *CATCHERS[Language.JSONATA]})),
    "a rule of a Choice": tuple(sorted({"Next", "Comment", "Condition", *RULES[Language.JSONATA]})),
    "`ReaderConfig`": tuple(sorted({*datasets._CONFIG, *datasets._NUMBER[Language.JSONPATH]})),
    "`WriterConfig`": tuple(sorted(datasets._WRITER_CONFIG)),
    "`ItemBatcher`": ("BatchInput", *(f"{size}{path}" for size in fields.SIZES for path in ("", "Path"))),
}
"""Fields of the objects around and inside states."""


def with_part(part: str, field: str) -> Json:
    """Return a definition with `field` in `part`."""
    if part == "a state machine":
        return definition({"Type": "Pass", "End": True}, **({field: TOP[field]} if field in TOP else {}))
    # A Condition and an Output exist in JSONata only.
    language = Language.JSONATA if field in ("Output", "Condition") else Language.JSONPATH
    return definition(_PARTS[part](field, language), language)


_WORK: dict[str, Json] = {"Type": "Task", "Resource": "f", "End": True}
_SOME: dict[str, Json] = {"Type": "Map", "ItemProcessor": PROCESSOR, "End": True}


def _retrier(field: str, _language: Language) -> Json:
    return {**_WORK, "Retry": [{"ErrorEquals": ["E"], field: RETRIER[field]}]}


def _catcher(field: str, _language: Language) -> Json:
    values = {**CATCHER, "Comment": "c", "ResultPath": "$.e", "Assign": {"x": 1}, "Output": "{% 1 %}"}
    return {**_WORK, "Catch": [{**CATCHER, field: values[field]}]}


def _rule(field: str, language: Language) -> Json:
    values: dict[str, Json] = {"Assign": {"x": 1}, "Comment": "c", "Output": "{% 1 %}", **RULE[language]}
    return {"Type": "Choice", "Choices": [{**RULE[language], field: values[field]}], "Default": "Z"}


def _reader(field: str, language: Language) -> Json:
    value, others = READER[field]
    action, key = ("listObjectsV2", {}) if field == "Transformation" else ("getObject", {"Key": "k"})
    reader = {
        "Resource": f"{SERVICE}s3:{action}",
        CALL[language]: {"Bucket": "b", **key},
        "ReaderConfig": {**others, field: value},
    }
    return {**_SOME, "ItemReader": reader}


def _writer(field: str, language: Language) -> Json:
    value = {"Transformation": "COMPACT", "OutputType": "JSON"}[field]
    writer = {"Resource": f"{SERVICE}s3:putObject", CALL[language]: {"Bucket": "b"}, "WriterConfig": {field: value}}
    return {**_SOME, "ResultWriter": writer}


def _batcher(field: str, _language: Language) -> Json:
    if field == "BatchInput":
        return {**_SOME, "ItemBatcher": {"MaxItemsPerBatch": 2, field: {"x": 1}}}
    return {**_SOME, "ItemBatcher": {field: "$.n" if field.endswith("Path") else 5}}


_PARTS: dict[str, Callable[[str, Language], Json]] = {
    "a retrier": _retrier,
    "a catcher": _catcher,
    "a rule of a Choice": _rule,
    "`ReaderConfig`": _reader,
    "`WriterConfig`": _writer,
    "`ItemBatcher`": _batcher,
}
