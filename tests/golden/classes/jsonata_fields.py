"""Fields that take a JSONata expression, each with a definition around it and the answer that Step Functions gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.golden.classes import jsonpath_fields as jsonpath
from tests.golden.classes.jsonpath_fields import Failed
from unum_runtime.model.states import Json

QUERY_ERROR = "States.QueryEvaluationError"
RECORDED_UNDEFINED = "recorded: MAP_CATCH_ERROR_OUTPUT_WITH_RETRY, returned nothing (undefined)"
RECORDED_TYPES = "recorded: map_state_items_eval_jsonata_fail"
TRANSFORMING = "AWS Step Functions Developer Guide, Transforming data with JSONata"


@dataclass(frozen=True, kw_only=True)
class ExpressionField:
    """A field that takes an expression.

    Attributes:
        name: the field.
        define: a definition with the field's value, such as ``{% ... %}``.
        answer: the execution's output for a value; fails it with an error for `Failed`.
        accepts: True for values that the field can use.
        wrong_source: where the error for values of a wrong kind is said; None if nothing says it.
    """

    name: str
    define: Callable[[str], dict[str, Json]]
    answer: Callable[[Json, Mapping[str, Json]], Json | Failed]
    accepts: Callable[[Json], bool] = lambda _value: True
    wrong_source: str | None = TRANSFORMING


def _one(state: dict[str, Json], **others: dict[str, Json]) -> dict[str, Json]:
    end = {} if state["Type"] in ("Fail", "Choice") else {"End": True}
    return {"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {**state, **end}, **others}}


def _task(**fields: Json) -> dict[str, Json]:
    return _one({"Type": "Task", "Resource": "echo", "Arguments": {"sent": 1}, **fields})


def _map(*, distributed: bool = False, **fields: Json) -> dict[str, Json]:
    mode = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}} if distributed else {}
    processor = {**mode, "StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
    return _one({"Type": "Map", "ItemProcessor": processor, "Items": "{% $states.input.list %}", **fields})


def _parallel(**fields: Json) -> dict[str, Json]:
    branch = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
    return _one({"Type": "Parallel", "Branches": [branch], **fields})


def _assign(text: str) -> dict[str, Json]:
    states = {
        "A": {"Type": "Pass", "Assign": {"v": text}, "Next": "B"},
        "B": {"Type": "Pass", "Output": {"p": "{% $v %}"}, "End": True},
    }
    return {"QueryLanguage": "JSONata", "StartAt": "A", "States": states}


def _choice(**rule: Json) -> dict[str, Json]:
    yes, no = ({"Type": "Pass", "Output": result, "End": True} for result in (True, False))
    return _one({"Type": "Choice", "Choices": [{**rule, "Next": "Yes"}], "Default": "No"}, Yes=yes, No=no)


def _chosen(text: str) -> dict[str, Json]:
    end = {"Type": "Pass", "End": True}
    return _one({"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Output": text, "Next": "B"}]}, B=end)


def _caught(**catcher: Json) -> dict[str, Json]:
    branch = {"StartAt": "I", "States": {"I": {"Type": "Fail", "Error": "E", "Cause": "c"}}}
    rule = {"ErrorEquals": ["States.ALL"], "Next": "B", **catcher}
    states = {
        "A": {"Type": "Parallel", "Branches": [branch], "Catch": [rule], "End": True},
        "B": {"Type": "Pass", "End": True, **({"Output": {"p": "{% $v %}"}} if "Assign" in catcher else {})},
    }
    return {"QueryLanguage": "JSONata", "StartAt": "A", "States": states}


def _assign_in_rule(text: str) -> dict[str, Json]:
    rule = {"Condition": "{% true %}", "Assign": {"v": text}, "Next": "B"}
    end = {"Type": "Pass", "Output": {"p": "{% $v %}"}, "End": True}
    return _one({"Type": "Choice", "Choices": [rule]}, B=end)


MESSAGE: dict[str, Json] = {"QueueUrl": "q", "MessageBody": "m"}
WAITING = {"Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Arguments": MESSAGE}

EXPRESSION_FIELDS = (
    ExpressionField(
        name="Output of Task",
        define=lambda text: _task(Output={"p": text}),
        answer=lambda value, _document: {"p": value},
    ),
    ExpressionField(
        name="Output of Map",
        define=lambda text: _map(Output={"p": text}),
        answer=lambda value, _document: {"p": value},
    ),
    ExpressionField(
        name="Output of Parallel",
        define=lambda text: _parallel(Output={"p": text}),
        answer=lambda value, _document: {"p": value},
    ),
    ExpressionField(
        name="Output of a catcher",
        define=lambda text: _caught(Output={"p": text}),
        answer=lambda value, _document: {"p": value},
    ),
    ExpressionField(
        name="Assign of a catcher",
        define=lambda text: _caught(Assign={"v": text}),
        answer=lambda value, _document: {"p": value},
    ),
    ExpressionField(name="Assign of a rule", define=_assign_in_rule, answer=lambda value, _document: {"p": value}),
    ExpressionField(
        name="HeartbeatSeconds",
        define=lambda text: _one({"Type": "Task", **WAITING, "HeartbeatSeconds": text}),
        accepts=jsonpath.is_positive,
        answer=lambda _value, _document: MESSAGE,
    ),
    ExpressionField(
        name="MaxInputBytesPerBatch",
        define=lambda text: _map(distributed=True, ItemBatcher={"MaxInputBytesPerBatch": text}),
        accepts=jsonpath.is_count,
        answer=jsonpath.small_batches,
    ),
    ExpressionField(
        name="Output",
        define=lambda text: _one({"Type": "Pass", "Output": text}),
        answer=lambda value, _document: value,
    ),
    ExpressionField(
        name="a field of Output",
        define=lambda text: _one({"Type": "Pass", "Output": {"p": text}}),
        answer=lambda value, _document: {"p": value},
    ),
    ExpressionField(
        name="an element of Output",
        define=lambda text: _one({"Type": "Pass", "Output": [text]}),
        answer=lambda value, _document: [value],
    ),
    ExpressionField(name="Output of a rule", define=_chosen, answer=lambda value, _document: value),
    ExpressionField(
        name="Output of Succeed",
        define=lambda text: {
            "QueryLanguage": "JSONata",
            "StartAt": "A",
            "States": {"A": {"Type": "Succeed", "Output": text}},
        },
        answer=lambda value, _document: value,
    ),
    ExpressionField(
        name="a field of Arguments",
        define=lambda text: _task(Arguments={"p": text}),
        answer=lambda value, _document: {"p": value},
    ),
    ExpressionField(
        name="Arguments of Parallel",
        define=lambda text: _parallel(Arguments=text),
        answer=lambda value, _document: [value],
    ),
    ExpressionField(name="Assign", define=_assign, answer=lambda value, _document: {"p": value}),
    ExpressionField(
        name="ItemSelector",
        define=lambda text: _map(ItemSelector={"p": text}),
        answer=lambda value, document: [{"p": value} for _ in document["list"]],
    ),
    ExpressionField(
        name="BatchInput",
        define=lambda text: _map(distributed=True, ItemBatcher={"MaxItemsPerBatch": 2, "BatchInput": {"p": text}}),
        answer=lambda value, document: [{"BatchInput": {"p": value}, "Items": document["list"]}],
    ),
    ExpressionField(
        name="Items",
        define=lambda text: _map(Items=text),
        accepts=jsonpath.is_array,
        answer=lambda value, _document: value,
        wrong_source=RECORDED_TYPES,
    ),
    ExpressionField(
        name="Condition",
        define=lambda text: _choice(Condition=text),
        accepts=lambda value: isinstance(value, bool),
        answer=lambda value, _document: value,
    ),
    ExpressionField(
        name="Seconds",
        define=lambda text: _one({"Type": "Wait", "Seconds": text}),
        accepts=jsonpath.is_count,
        answer=lambda _value, document: dict(document),
    ),
    ExpressionField(
        name="Timestamp",
        define=lambda text: _one({"Type": "Wait", "Timestamp": text}),
        accepts=jsonpath.is_time,
        answer=lambda _value, document: dict(document),
    ),
    ExpressionField(
        name="TimeoutSeconds",
        define=lambda text: _task(TimeoutSeconds=text),
        accepts=jsonpath.is_positive,
        answer=lambda _value, _document: {"sent": 1},
    ),
    ExpressionField(
        name="MaxConcurrency",
        define=lambda text: _map(MaxConcurrency=text),
        accepts=jsonpath.is_count,
        answer=lambda _value, document: document["list"],
    ),
    ExpressionField(
        name="ToleratedFailureCount",
        define=lambda text: _map(distributed=True, ToleratedFailureCount=text),
        accepts=jsonpath.is_count,
        answer=lambda _value, document: document["list"],
    ),
    ExpressionField(
        name="ToleratedFailurePercentage",
        define=lambda text: _map(distributed=True, ToleratedFailurePercentage=text),
        accepts=jsonpath.is_percentage,
        answer=lambda _value, document: document["list"],
    ),
    ExpressionField(
        name="MaxItemsPerBatch",
        define=lambda text: _map(distributed=True, ItemBatcher={"MaxItemsPerBatch": text}),
        accepts=jsonpath.is_count,
        answer=jsonpath.batches,
    ),
    ExpressionField(
        name="Error",
        define=lambda text: _one({"Type": "Fail", "Error": text, "Cause": "c"}),
        accepts=jsonpath.is_text,
        answer=lambda value, _document: Failed(value),
    ),
    ExpressionField(
        name="Cause",
        define=lambda text: _one({"Type": "Fail", "Error": "E", "Cause": text}),
        accepts=jsonpath.is_text,
        answer=lambda _value, _document: Failed("E"),
    ),
)
