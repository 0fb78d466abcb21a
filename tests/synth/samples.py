"""Shapes of published CDK samples for `StateMachine`, written anew: each returns arguments of `StateMachine`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aws_cdk import Aws, CfnParameter, Duration, Fn, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

Arguments = Mapping[str, Any]
ONE_MINUTE = Duration.minutes(1)


def function(scope: Construct, construct_id: str) -> lambda_.Function:
    code = lambda_.Code.from_inline("def handle(event, context):\n    return event\n")
    return lambda_.Function(scope, construct_id, code=code, handler="index.handle", runtime=lambda_.Runtime.PYTHON_3_12)


def job_poller(stack: Stack) -> Arguments:
    """A job that is submitted, then polled in a loop of Wait and Choice."""
    submit = tasks.LambdaInvoke(stack, "Submit", lambda_function=function(stack, "SubmitFn"), output_path="$.Payload")
    wait = sfn.Wait(stack, "Wait", time=sfn.WaitTime.seconds_path("$.seconds"))
    ask = tasks.LambdaInvoke(stack, "Ask", lambda_function=function(stack, "AskFn"), payload_response_only=True)
    failed = sfn.Fail(stack, "Failed", cause="the job failed", error="JobFailed")
    succeeded = sfn.Succeed(stack, "Succeeded")
    choice = (
        sfn.Choice(stack, "Is it done?")
        .when(sfn.Condition.string_equals("$.status", "FAILED"), failed)
        .when(sfn.Condition.string_equals("$.status", "SUCCEEDED"), succeeded)
        .otherwise(wait)
    )
    return {"definition_body": sfn.DefinitionBody.from_chainable(submit.next(wait).next(ask).next(choice))}


def discarded_results(stack: Stack) -> Arguments:
    """Results that every kind of state discards."""
    table = dynamodb.Table.from_table_name(stack, "Items", "items")
    branch = sfn.Parallel(stack, "Both", result_path=sfn.JsonPath.DISCARD).branch(sfn.Pass(stack, "One"))
    each = sfn.Map(stack, "Each", items_path="$.items", result_path=sfn.JsonPath.DISCARD)
    each.item_processor(sfn.Pass(stack, "Item"))
    key = {"id": tasks.DynamoAttributeValue.from_string(sfn.JsonPath.string_at("$.id"))}
    put = tasks.DynamoPutItem(stack, "Put", table=table, item=key, result_path=sfn.JsonPath.DISCARD)
    call = tasks.LambdaInvoke(
        stack, "Call", lambda_function=function(stack, "CallFn"), result_path=sfn.JsonPath.DISCARD
    )
    skip = sfn.Pass(stack, "Skip", result=sfn.Result.from_object({"a": 1}), result_path=sfn.JsonPath.DISCARD)
    return {"definition": call.next(skip).next(branch).next(each).next(put)}


def tokens_everywhere(stack: Stack) -> Arguments:
    """Values that are known at deployment, in paths, templates, ARNs and messages."""
    bucket, queue, topic = s3.Bucket(stack, "Bucket"), sqs.Queue(stack, "Queue"), sns.Topic(stack, "Topic")
    stage = CfnParameter(stack, "Stage", default="dev")
    prepare = sfn.Pass(
        stack,
        "Prepare",
        parameters={
            "uri": sfn.JsonPath.format(f"s3://{bucket.bucket_name}/{{}}", sfn.JsonPath.string_at("$.key")),
            "arn": f"arn:{Aws.PARTITION}:s3:::{bucket.bucket_name}",
            "stage": stage.value_as_string,
            "key.$": "$.key",
        },
    )
    listed = tasks.CallAwsService(
        stack,
        "List",
        service="s3",
        action="listObjectsV2",
        parameters={"Bucket": bucket.bucket_name, "Prefix": sfn.JsonPath.string_at("$.key")},
        iam_resources=[bucket.bucket_arn],
        iam_action="s3:ListBucket",
        result_path="$.listed",
    )
    message = sfn.TaskInput.from_object({"stage": stage.value_as_string, "key": sfn.JsonPath.string_at("$.key")})
    send = tasks.SqsSendMessage(stack, "Send", queue=queue, message_body=message, result_path=sfn.JsonPath.DISCARD)
    text = sfn.TaskInput.from_text(Fn.join("-", ["ready", stage.value_as_string]))
    publish = tasks.SnsPublish(stack, "Publish", topic=topic, message=text)
    return {"definition_body": sfn.DefinitionBody.from_chainable(prepare.next(listed).next(send).next(publish))}


def approval(stack: Stack) -> Arguments:
    """A message with a task token, a heartbeat, and errors that lead elsewhere."""
    body = sfn.TaskInput.from_object({"token": sfn.JsonPath.task_token, "order": sfn.JsonPath.entire_payload})
    ask = tasks.SqsSendMessage(
        stack,
        "Ask",
        queue=sqs.Queue(stack, "Approvals"),
        message_body=body,
        integration_pattern=sfn.IntegrationPattern.WAIT_FOR_TASK_TOKEN,
        task_timeout=sfn.Timeout.duration(Duration.hours(1)),
        heartbeat_timeout=sfn.Timeout.duration(Duration.minutes(10)),
    )
    ask.add_catch(sfn.Pass(stack, "Refused"), errors=["Refused", "States.Timeout"], result_path="$.error")
    ask.add_retry(errors=["SQS.SdkClientException"], max_attempts=2, interval=Duration.seconds(5), backoff_rate=1.5)
    return {"definition_body": sfn.DefinitionBody.from_chainable(ask), "timeout": Duration.days(1)}


def csv_of_many_lines(stack: Stack) -> Arguments:
    """A distributed Map over a CSV file, with a function for each line."""
    lines = sfn.DistributedMap(
        stack,
        "Lines",
        max_concurrency=100,
        item_reader=sfn.S3CsvItemReader(
            bucket=s3.Bucket(stack, "Files"),
            key=sfn.JsonPath.string_at("$.key"),
            csv_headers=sfn.CsvHeaders.use_first_row(),
        ),
        tolerated_failure_percentage=5,
        result_writer=sfn.ResultWriter(bucket=s3.Bucket(stack, "Results"), prefix="results"),
    )
    lines.item_processor(
        tasks.LambdaInvoke(stack, "Line", lambda_function=function(stack, "LineFn"), payload_response_only=True)
    )
    return {"definition_body": sfn.DefinitionBody.from_chainable(lines)}


def items_with_selector(stack: Stack) -> Arguments:
    """An inline Map that selects from item, input and context."""
    each = sfn.Map(
        stack,
        "Each",
        items_path=sfn.JsonPath.string_at("$.items"),
        max_concurrency=3,
        item_selector={
            "item": sfn.JsonPath.string_at("$$.Map.Item.Value"),
            "index": sfn.JsonPath.number_at("$$.Map.Item.Index"),
            "id": sfn.JsonPath.uuid(),
            "owner": sfn.JsonPath.string_at("$.owner"),
        },
    )
    call = tasks.LambdaInvoke(
        stack,
        "Handle",
        lambda_function=function(stack, "HandleFn"),
        payload=sfn.TaskInput.from_object({"item.$": "$.item"}),
        result_selector={"answer.$": "$.Payload"},
        retry_on_service_exceptions=False,
    )
    return {"definition_body": sfn.DefinitionBody.from_chainable(each.item_processor(call))}


class Guarded(sfn.StateMachineFragment):
    """A reusable part with a Parallel and a handler for its errors."""

    def __init__(self, scope: Construct, construct_id: str, *, label: str) -> None:
        super().__init__(scope, construct_id)
        work = sfn.Parallel(self, "Work").branch(
            tasks.LambdaInvoke(self, "Do", lambda_function=function(self, "DoFn")), sfn.Pass(self, f"Note {label}")
        )
        self._end = sfn.Pass(self, "Recovered")
        work.add_catch(self._end, result_path="$.error")
        self._start = work.next(self._end)

    @property
    def start_state(self) -> sfn.State:
        return self._start.start_state

    @property
    def end_states(self) -> list[sfn.INextable]:
        return [self._end]


def fragments(stack: Stack) -> Arguments:
    """Two uses of one fragment, and a hand-written state between them."""
    custom = sfn.CustomState(stack, "Custom", state_json={"Type": "Pass", "Result": {"k": "v"}})
    first, second = (Guarded(stack, name, label=name) for name in ("First", "Second"))
    chain = first.prefix_states().next(custom).next(second.prefix_states())
    return {"definition_body": sfn.DefinitionBody.from_chainable(chain)}


def expressions(stack: Stack) -> Arguments:
    """States that evaluate JSONata and assign variables."""
    start = sfn.Pass.jsonata(stack, "Begin", assign={"total": "{% $sum($states.input.prices) %}"})
    call = tasks.LambdaInvoke.jsonata(
        stack,
        "Charge",
        lambda_function=function(stack, "ChargeFn"),
        payload=sfn.TaskInput.from_object({"total": "{% $total %}"}),
        outputs={"charged": "{% $states.result.Payload %}"},
    )
    is_large = sfn.Condition.jsonata("{% $total > 100 %}")
    choice = sfn.Choice.jsonata(stack, "Large?").when(is_large, sfn.Succeed.jsonata(stack, "Large")).otherwise(call)
    return {"definition_body": sfn.DefinitionBody.from_chainable(start.next(choice))}


def _machine(name: str) -> str:
    end = {"Type": "Task", "Resource": f"${{{name}}}", "TimeoutSeconds": 60, "End": True}
    wait = {"Type": "Wait", "Seconds": 1, "Next": "Work"}
    return json.dumps({"StartAt": "Pause", "States": {"Pause": wait, "Work": end}})


def text_with_substitutions(stack: Stack) -> Arguments:
    """A text whose names are replaced by the ARN of a function of the app."""
    return {
        "definition_body": sfn.DefinitionBody.from_string(_machine("WorkArn")),
        "definition_substitutions": {"WorkArn": function(stack, "WorkFn").function_arn},
    }


def file_with_substitutions(stack: Stack) -> Arguments:
    """A file whose names are replaced by the ARN of a function of the app."""
    folder = Path(stack.node.try_get_context("files"))
    (folder / "machine.asl.json").write_text(_machine("WorkArn"), encoding="utf-8")
    return {
        "definition_body": sfn.DefinitionBody.from_file(str(folder / "machine.asl.json")),
        "definition_substitutions": {"WorkArn": function(stack, "WorkFn").function_arn},
    }


SAMPLES = (
    job_poller,
    discarded_results,
    tokens_everywhere,
    approval,
    csv_of_many_lines,
    items_with_selector,
    fragments,
    expressions,
    text_with_substitutions,
    file_with_substitutions,
)
