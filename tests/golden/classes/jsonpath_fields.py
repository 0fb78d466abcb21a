"""Fields that take a path, each with a definition around it and the answer that Step Functions gives."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from unum_runtime.model.states import Json

RECORDED = "recorded: invalid_jsonpath"
ALIKE = "not recorded for this field, but alike for others: invalid_jsonpath"
SPECIFICATION = "Amazon States Language specification"
RUNTIME = "States.Runtime"


@dataclass(frozen=True)
class Failed:
    """An execution that fails with `error`."""

    error: str


@dataclass(frozen=True, kw_only=True)
class PathField:
    """A field that takes a path.

    Attributes:
        name: the field.
        define: a definition with the path.
        takes: ``path``, ``reference`` (names and indexes from 0), ``input reference`` (without the context object), or
            ``template`` (a path or an intrinsic function).
        accepts: True for values that the field can use.
        answer: the execution's output for a value; fails it with an error for `Failed`.
        of: what the field's paths lead into, by the state's input.
        missing: error where the path leads nowhere.
        missing_source: where that is said; None if nothing says it, and it was chosen.
        wrong_source: where the error for values of a wrong kind is said; None if nothing says it.
    """

    name: str
    define: Callable[[str], dict[str, Json]]
    takes: str
    answer: Callable[[Json, Mapping[str, Json]], Json | Failed]
    accepts: Callable[[Json], bool] = lambda _value: True
    of: Callable[[dict[str, Json]], Json] = lambda document: document
    missing: Json | Failed = Failed(RUNTIME)
    missing_source: str | None = ALIKE
    wrong_source: str | None = None


def _one(state: dict[str, Json], **others: dict[str, Json]) -> dict[str, Json]:
    end = {} if state["Type"] in ("Fail", "Choice") else {"End": True}
    return {"StartAt": "A", "States": {"A": {**state, **end}, **others}}


def _choice(**rule: Json) -> dict[str, Json]:
    yes, no = ({"Type": "Pass", "Result": result, "End": True} for result in (True, False))
    return _one({"Type": "Choice", "Choices": [{**rule, "Next": "Yes"}], "Default": "No"}, Yes=yes, No=no)


def _map(*, distributed: bool = False, **fields: Json) -> dict[str, Json]:
    mode = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}} if distributed else {}
    processor = {**mode, "StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
    return _one({"Type": "Map", "ItemProcessor": processor, "ItemsPath": "$.list", **fields})


def _task(**fields: Json) -> dict[str, Json]:
    return _one({"Type": "Task", "Resource": "echo", **fields})


def _assign(path: str) -> dict[str, Json]:
    return {
        "StartAt": "A",
        "States": {
            "A": {"Type": "Pass", "Assign": {"v.$": path}, "Next": "B"},
            "B": {"Type": "Pass", "Parameters": {"p.$": "$v"}, "End": True},
        },
    }


def _caught(**catcher: Json) -> dict[str, Json]:
    """Return a machine whose Parallel fails and is caught by a rule, for paths into the rule's error output."""
    branch = {"StartAt": "I", "States": {"I": {"Type": "Fail", "Error": "E", "Cause": "c"}}}
    rule = {"ErrorEquals": ["States.ALL"], "Next": "B", "ResultPath": "$.error", **catcher}
    return {
        "StartAt": "A",
        "States": {
            "A": {"Type": "Parallel", "Branches": [branch], "Catch": [rule], "End": True},
            "B": {"Type": "Pass", "Parameters": {"p.$": "$v"}, "End": True},
        },
    }


def _assign_in_rule(path: str) -> dict[str, Json]:
    rule = {"Variable": "$.seven", "IsPresent": True, "Assign": {"v.$": path}, "Next": "B"}
    end = {"Type": "Pass", "Parameters": {"p.$": "$v"}, "End": True}
    return {"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [rule]}, "B": end}}


def _waiting(**fields: Json) -> dict[str, Json]:
    call = {"Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Parameters": MESSAGE}
    return _one({"Type": "Task", **call, **fields})


def _parallel(**fields: Json) -> dict[str, Json]:
    branch = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
    return _one({"Type": "Parallel", "Branches": [branch], **fields})


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_positive(value: Json) -> bool:
    return is_count(value) and value > 0


def is_percentage(value: Json) -> bool:
    return is_number(value) and 0 <= value <= 100


def read_number(value: Json) -> Json:
    """Return the number in a text of one, or else the value."""
    is_numeral = isinstance(value, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value)
    return json.loads(value) if is_numeral else value


def or_in_text(accepts: Callable[[Json], bool]) -> Callable[[Json], bool]:
    """Return `accepts` for fields that read numbers in texts too."""
    return lambda value: accepts(read_number(value))


def is_text(value: Json) -> bool:
    return isinstance(value, str)


def is_time(value: Json) -> bool:
    try:
        return bool(datetime.fromisoformat(value).tzinfo) if isinstance(value, str) else False
    except ValueError:
        return False


def is_array(value: Json) -> bool:
    return isinstance(value, list)


def _itself(value: Json, _document: Mapping[str, Json]) -> Json:
    return value


def _in_p(value: Json, _document: Mapping[str, Json]) -> Json:
    return {"p": value}


def _unchanged(_value: Json, document: Mapping[str, Json]) -> Json:
    return dict(document)


def _the_list(_value: Json, document: Mapping[str, Json]) -> Json:
    return document["list"]


def _is_seven(value: Json, _document: Mapping[str, Json]) -> Json:
    return is_number(value) and value == 7


def batches(size: Json, document: Mapping[str, Json]) -> Json:
    """Return batches of `size` items; 0 is no limit."""
    items = document["list"]
    return [{"Items": items[begin : begin + size]} for begin in range(0, len(items), size)] if size else whole(document)


def small_batches(size: Json, document: Mapping[str, Json]) -> Json:
    """Return batches of `size` bytes, too few for two items; 0 is no limit."""
    return [{"Items": [item]} for item in document["list"]] if size else whole(document)


def whole(document: Mapping[str, Json]) -> Json:
    """Return one batch of all items."""
    return [{"Items": document["list"]}]


MESSAGE: dict[str, Json] = {"QueueUrl": "q", "MessageBody": "m"}
NOT_INTEGER = "recorded: max_concurrency_path, tolerated_failure_count_path"
HANDLING_ERRORS = "AWS Step Functions Developer Guide, Handling errors in Step Functions workflows: States.Runtime"

PATH_FIELDS = (
    PathField(
        name="InputPath",
        define=lambda p: _one({"Type": "Pass", "InputPath": p}),
        takes="path",
        answer=_itself,
        missing_source=RECORDED,
    ),
    PathField(
        name="OutputPath",
        define=lambda p: _one({"Type": "Pass", "OutputPath": p}),
        takes="path",
        answer=_itself,
        missing_source=RECORDED,
    ),
    PathField(
        name="Parameters of Pass",
        define=lambda p: _one({"Type": "Pass", "Parameters": {"p.$": p}}),
        takes="template",
        answer=_in_p,
        missing_source=RECORDED,
    ),
    PathField(name="Parameters of Task", define=lambda p: _task(Parameters={"p.$": p}), takes="template", answer=_in_p),
    PathField(
        name="Parameters of Parallel",
        define=lambda p: _parallel(Parameters={"p.$": p}),
        takes="template",
        answer=lambda value, _document: [{"p": value}],
    ),
    PathField(name="ResultSelector", define=lambda p: _task(ResultSelector={"p.$": p}), takes="template", answer=_in_p),
    PathField(name="Assign", define=_assign, takes="template", answer=_in_p),
    PathField(
        name="ItemSelector",
        define=lambda p: _map(ItemSelector={"p.$": p}),
        takes="template",
        answer=lambda value, document: [{"p": value} for _ in document["list"]],
    ),
    PathField(
        name="BatchInput",
        define=lambda p: _map(distributed=True, ItemBatcher={"MaxItemsPerBatch": 2, "BatchInput": {"p.$": p}}),
        takes="template",
        answer=lambda value, document: [{"BatchInput": {"p": value}, "Items": document["list"]}],
        missing_source=None,
    ),
    PathField(
        name="ItemsPath",
        define=lambda p: _map(ItemsPath=p),
        takes="path",
        accepts=is_array,
        answer=_itself,
        wrong_source="AWS's cause for other items: Reference path … must point to array",
    ),
    PathField(
        name="Variable",
        define=lambda p: _choice(Variable=p, NumericEquals=7),
        takes="path",
        answer=_is_seven,
        missing_source=HANDLING_ERRORS,
    ),
    PathField(
        name="Variable of IsPresent",
        define=lambda p: _choice(Variable=p, IsPresent=True),
        takes="path",
        answer=lambda _value, _document: True,
        missing=False,
        missing_source=f"{SPECIFICATION}, Choice State",
    ),
    PathField(
        name="Variable of IsNull",
        define=lambda p: _choice(Variable=p, IsNull=True),
        takes="path",
        answer=lambda value, _document: value is None,
        missing_source=None,
    ),
    PathField(
        name="NumericEqualsPath",
        define=lambda p: _choice(Variable="$.seven", NumericEqualsPath=p),
        takes="path",
        answer=_is_seven,
        missing_source=HANDLING_ERRORS,
    ),
    PathField(
        name="StringEqualsPath",
        define=lambda p: _choice(Variable="$.word", StringEqualsPath=p),
        takes="path",
        answer=lambda value, _document: value == "t",
        missing_source=HANDLING_ERRORS,
    ),
    PathField(
        name="BooleanEqualsPath",
        define=lambda p: _choice(Variable="$.yes", BooleanEqualsPath=p),
        takes="path",
        answer=lambda value, _document: value is True,
        missing_source=HANDLING_ERRORS,
    ),
    PathField(
        name="TimestampLessThanEqualsPath",
        define=lambda p: _choice(Variable="$.past", TimestampLessThanEqualsPath=p),
        takes="path",
        answer=lambda value, _document: is_time(value),
        missing_source=HANDLING_ERRORS,
    ),
    *(
        PathField(
            name=f"Variable of {test}",
            define=lambda p, test=test: _choice(Variable=p, **{test: True}),  # type: ignore[misc]
            takes="path",
            answer=lambda value, _document, holds=holds: holds(value),  # type: ignore[misc]
            missing_source=None,
        )
        for test, holds in {
            "IsString": is_text,
            "IsNumeric": is_number,
            "IsBoolean": lambda value: isinstance(value, bool),
            "IsTimestamp": is_time,
        }.items()
    ),
    PathField(name="Assign of a rule", define=_assign_in_rule, takes="template", answer=_in_p, missing_source=None),
    PathField(
        name="ResultSelector of Parallel",
        define=lambda p: _parallel(ResultSelector={"p.$": p}),
        takes="template",
        answer=_in_p,
        of=lambda document: [document],
        missing_source=None,
    ),
    PathField(
        name="ResultSelector of Map",
        define=lambda p: _map(ResultSelector={"p.$": p}),
        takes="template",
        answer=_in_p,
        of=lambda document: document["list"],
        missing_source=None,
    ),
    PathField(
        name="Assign of a catcher",
        define=lambda p: _caught(Assign={"v.$": p}),
        takes="template",
        answer=_in_p,
        of=lambda _document: {"Error": "E", "Cause": "c"},
        missing_source=None,
    ),
    PathField(
        name="HeartbeatSecondsPath",
        define=lambda p: _waiting(HeartbeatSecondsPath=p),
        takes="reference",
        accepts=or_in_text(is_positive),
        answer=lambda _value, _document: MESSAGE,
        missing_source=RECORDED,
    ),
    PathField(
        name="MaxInputBytesPerBatchPath",
        define=lambda p: _map(distributed=True, ItemBatcher={"MaxInputBytesPerBatchPath": p}),
        takes="input reference",
        accepts=or_in_text(is_count),
        answer=lambda size, document: small_batches(read_number(size), document),
        missing_source=None,
    ),
    PathField(
        name="SecondsPath",
        define=lambda p: _one({"Type": "Wait", "SecondsPath": p}),
        takes="reference",
        accepts=or_in_text(is_count),
        answer=_unchanged,
    ),
    PathField(
        name="TimestampPath",
        define=lambda p: _one({"Type": "Wait", "TimestampPath": p}),
        takes="reference",
        accepts=is_time,
        answer=_unchanged,
    ),
    PathField(
        name="TimeoutSecondsPath",
        define=lambda p: _task(TimeoutSecondsPath=p),
        takes="reference",
        accepts=or_in_text(is_positive),
        answer=_unchanged,
    ),
    PathField(
        name="MaxConcurrencyPath",
        define=lambda p: _map(MaxConcurrencyPath=p),
        takes="input reference",
        accepts=or_in_text(is_count),
        answer=_the_list,
        wrong_source=NOT_INTEGER,
    ),
    PathField(
        name="ToleratedFailureCountPath",
        define=lambda p: _map(distributed=True, ToleratedFailureCountPath=p),
        takes="input reference",
        accepts=or_in_text(is_count),
        answer=_the_list,
        wrong_source=NOT_INTEGER,
    ),
    PathField(
        name="ToleratedFailurePercentagePath",
        define=lambda p: _map(distributed=True, ToleratedFailurePercentagePath=p),
        takes="input reference",
        accepts=or_in_text(is_percentage),
        answer=_the_list,
    ),
    PathField(
        name="MaxItemsPerBatchPath",
        define=lambda p: _map(distributed=True, ItemBatcher={"MaxItemsPerBatchPath": p}),
        takes="input reference",
        accepts=or_in_text(is_count),
        answer=lambda size, document: batches(read_number(size), document),
        missing_source=None,
    ),
    PathField(
        name="ErrorPath",
        define=lambda p: _one({"Type": "Fail", "ErrorPath": p, "Cause": "c"}),
        takes="template",
        accepts=is_text,
        answer=lambda value, _document: Failed(value),
        missing_source=RECORDED,
    ),
    PathField(
        name="CausePath",
        define=lambda p: _one({"Type": "Fail", "Error": "E", "CausePath": p}),
        takes="template",
        accepts=is_text,
        answer=lambda _value, _document: Failed("E"),
        missing_source=RECORDED,
    ),
)
