"""Chains of `aws_stepfunctions`: rendered by the CDK, with functions, values and statements."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Duration, Fn, Stack, Token
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.placeholders import fill
from unum_runtime.model.states import Form, Language, Pattern, Wait


@pytest.fixture
def stack() -> Stack:
    return Stack(App(), "Stack")


def function(scope: Construct, construct_id: str = "Resize") -> lambda_.Function:
    code = lambda_.Code.from_inline("def handle(event, context): return event")
    return lambda_.Function(scope, construct_id, runtime=lambda_.Runtime.PYTHON_3_12, handler="index.handle", code=code)


def compiled(definition: Definition) -> Workflow:
    return definition.compile("w", definition.functions.keys())


def states(definition: Definition) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(definition.text)["States"]
    return table


def actions(definition: Definition) -> list[str]:
    return [action for statement in definition.statements for action in statement.actions]


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for item in value.items() for text in texts(list(item)))
    elif isinstance(value, list):
        yield from (text for item in value for text in texts(item))
    elif isinstance(value, str):
        yield value


def has_token(definition: Definition) -> bool:
    return any(Token.is_unresolved(text) for text in texts(json.loads(definition.text)))


def test_functions_come_along_in_both_forms(stack: Stack) -> None:
    resize, index = function(stack, "Resize"), function(stack, "Index")
    first = tasks.LambdaInvoke(stack, "First", lambda_function=resize)
    second = tasks.LambdaInvoke(stack, "Second", lambda_function=index, payload_response_only=True)
    third = tasks.LambdaInvoke(stack, "Third", lambda_function=resize, payload_response_only=True)
    definition = Definition.from_chainable(first.next(second).next(third))
    assert definition.functions == {"Resize": resize, "Index": index}
    assert not definition.statements
    workflow = compiled(definition)
    assert {task.name: (task.function, task.form) for task in workflow.tasks} == {
        "First": ("Resize", Form.INVOKE),
        "Second": ("Index", Form.DIRECT),
        "Third": ("Resize", Form.DIRECT),
    }
    assert [retrier.max_attempts for retrier in workflow.task("First").retry] == [6]


def test_the_same_workflow_as_asl_compiles_to_the_same(stack: Stack) -> None:
    resize, index = function(stack, "Resize"), function(stack, "Index")
    branch = tasks.LambdaInvoke(
        stack, "One", lambda_function=index, payload_response_only=True, retry_on_service_exceptions=False
    )
    each = sfn.Map(stack, "Each", items_path="$.pages", max_concurrency=3).item_processor(branch)
    enough = sfn.Choice(stack, "Enough?")
    enough.when(sfn.Condition.number_greater_than("$[0]", 100), each).otherwise(sfn.Fail(stack, "Few", error="Few"))
    first = tasks.LambdaInvoke(stack, "Split", lambda_function=resize, retry_on_service_exceptions=False)
    machine = {
        "StartAt": "Split",
        "States": {
            "Split": {
                "Type": "Task",
                "Resource": "arn:aws:states:::lambda:invoke",
                "Parameters": {"FunctionName": "Resize", "Payload.$": "$"},
                "Next": "Enough?",
            },
            "Enough?": {
                "Type": "Choice",
                "Choices": [{"Variable": "$[0]", "NumericGreaterThan": 100, "Next": "Each"}],
                "Default": "Few",
            },
            "Few": {"Type": "Fail", "Error": "Few"},
            "Each": {
                "Type": "Map",
                "ItemsPath": "$.pages",
                "MaxConcurrency": 3,
                "ItemProcessor": {
                    "ProcessorConfig": {"Mode": "INLINE"},
                    "StartAt": "One",
                    "States": {"One": {"Type": "Task", "Resource": "Index", "End": True}},
                },
                "End": True,
            },
        },
    }
    built = compiled(Definition.from_chainable(first.next(enough)))
    assert built.to_json() == compiled_asl(machine).to_json()


def compiled_asl(machine: dict[str, Any]) -> Workflow:
    return Definition.from_asl(machine).compile("w", None)


def test_a_definition_body_and_a_single_state_are_accepted(stack: Stack) -> None:
    body = sfn.DefinitionBody.from_chainable(sfn.Pass(stack, "A").next(sfn.Pass(stack, "B")))
    assert states(Definition.from_chainable(body)).keys() == {"A", "B"}
    assert states(Definition.from_chainable(sfn.Pass(stack, "C"))).keys() == {"C"}


@pytest.mark.parametrize("given", [None, "x", sfn.DefinitionBody.from_string("{}")])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(DefinitionError, match="expected a state or a chain"):
        Definition.from_chainable(given)


def test_options_of_the_machine(stack: Stack) -> None:
    definition = Definition.from_chainable(
        sfn.Pass.jsonata(stack, "A"),
        query_language=sfn.QueryLanguage.JSONATA,
        timeout=Duration.minutes(2),
        comment="Why",
    )
    machine = json.loads(definition.text)
    assert (machine["Comment"], machine["TimeoutSeconds"], machine["QueryLanguage"]) == ("Why", 120, "JSONata")


def test_jsonata_states(stack: Stack) -> None:
    resize = function(stack)
    payload = sfn.TaskInput.from_object({"n": "{% $states.input.n %}"})
    task = tasks.LambdaInvoke.jsonata(stack, "A", lambda_function=resize, payload=payload)
    workflow = compiled(Definition.from_chainable(task))
    assert (workflow.task("A").function, workflow.task("A").language) == ("Resize", Language.JSONATA)


def test_tokens_become_values_and_statements_are_carried_over(stack: Stack) -> None:
    table = dynamodb.Table(
        stack, "Table", partition_key=dynamodb.Attribute(name="k", type=dynamodb.AttributeType.STRING)
    )
    item = {"k": tasks.DynamoAttributeValue.from_string(sfn.JsonPath.string_at("$.k"))}
    put = tasks.DynamoPutItem(stack, "Put", table=table, item=item)
    send = tasks.SqsSendMessage(
        stack, "Send", queue=sqs.Queue(stack, "Queue"), message_body=sfn.TaskInput.from_json_path_at("$")
    )
    definition = Definition.from_chainable(put.next(send))
    assert not has_token(definition)
    assert definition.values["Value1"] == table.table_name
    assert states(definition)["Put"]["Parameters"]["TableName"] == "${Value1}"
    assert actions(definition) == ["dynamodb:PutItem", "sqs:SendMessage"]
    assert {task.resource for task in compiled(definition).tasks} == {"dynamodb:putItem", "sqs:sendMessage"}


def test_rules_for_events_and_what_the_task_itself_says_are_not_needed(stack: Stack) -> None:
    child = sfn.StateMachine(stack, "Child", definition_body=sfn.DefinitionBody.from_chainable(sfn.Pass(stack, "P")))
    start = tasks.StepFunctionsStartExecution(
        stack, "Start", state_machine=child, integration_pattern=sfn.IntegrationPattern.RUN_JOB
    )
    definition = Definition.from_chainable(start)
    assert actions(definition) == []
    assert compiled(definition).task("Start").pattern is Pattern.SYNC


def test_a_function_that_is_no_node_keeps_its_statement(stack: Stack) -> None:
    other = function(stack, "Other")
    call = tasks.CallAwsService(
        stack,
        "Call",
        service="lambda",
        action="invoke",
        parameters={"FunctionName": other.function_arn},
        iam_resources=[other.function_arn],
        iam_action="lambda:InvokeFunction",
    )
    definition = Definition.from_chainable(call)
    assert (definition.functions, actions(definition)) == ({}, ["lambda:InvokeFunction"])


def test_distributed_map(stack: Stack) -> None:
    bucket = s3.Bucket(stack, "Bucket")
    reader = sfn.S3JsonItemReader(bucket=bucket, key="items.json")
    each = sfn.DistributedMap(stack, "Each", item_reader=reader)
    one = tasks.LambdaInvoke(stack, "One", lambda_function=function(stack))
    definition = Definition.from_chainable(each.item_processor(one))
    assert not has_token(definition)
    assert actions(definition) == [], "the workflow derives what its data sets need"
    assert states(definition)["Each"]["ItemReader"]["Resource"] == "arn:aws:states:::s3:getObject"
    assert definition.functions.keys() == {"Resize"}


def test_custom_states_name_functions_by_arn_or_name(stack: Stack) -> None:
    resize = function(stack)
    direct = sfn.CustomState(stack, "Direct", state_json={"Type": "Task", "Resource": resize.function_arn})
    invoke = {"FunctionName": resize.function_name, "Payload.$": "$"}
    wrapped = sfn.CustomState(
        stack,
        "Wrapped",
        state_json={"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": invoke},
    )
    workflow = compiled(Definition.from_chainable(direct.next(wrapped)))
    assert {task.function for task in workflow.tasks} == {"Resize"}


def test_paths_may_be_written_by_json_path_in_every_field(stack: Stack) -> None:
    at = sfn.JsonPath.string_at
    of_each = sfn.Map(stack, "Each", items_path=at("$.pages"), result_path=at("$.sizes"))
    of_each.item_processor(
        tasks.LambdaInvoke(stack, "Do", lambda_function=function(stack), output_path=at("$.Payload"))
    )
    is_big = sfn.Condition.number_greater_than(at("$.n"), 1)
    ways = sfn.Choice(stack, "Ways", input_path=at("$.sizes")).when(is_big, sfn.Succeed(stack, "Big"))
    wait = sfn.Wait(stack, "Wait", time=sfn.WaitTime.seconds_path(at("$.pause")))
    definition = Definition.from_chainable(of_each.next(wait).next(ways))
    found = states(definition)
    assert (found["Each"]["ItemsPath"], found["Each"]["ResultPath"]) == ("$.pages", "$.sizes")
    assert found["Each"]["ItemProcessor"]["States"]["Do"]["OutputPath"] == "$.Payload"
    assert found["Wait"]["SecondsPath"] == "$.pause"
    assert (found["Ways"]["InputPath"], found["Ways"]["Choices"][0]["Variable"]) == ("$.sizes", "$.n")
    assert compiled(definition).fan_out("Each")
    assert not definition.values


def test_intrinsics_in_hand_written_states_are_values(stack: Stack) -> None:
    given = {"token": Fn.ref("Bucket"), "intrinsic": {"Ref": "Topic"}}
    definition = Definition.from_chainable(pass_with(stack, given))
    assert states(definition)["A"]["Result"] == {"token": "${Value1}", "intrinsic": "${Value2}"}
    assert stack.resolve(dict(definition.values)) == {"Value1": {"Ref": "Bucket"}, "Value2": {"Ref": "Topic"}}


def test_a_token_in_the_template_of_an_intrinsic_function_is_a_value(stack: Stack) -> None:
    bucket = s3.Bucket(stack, "Bucket")
    address = sfn.JsonPath.format(f"s3://{bucket.bucket_name}/{{}}", sfn.JsonPath.string_at("$.key"))
    fail = sfn.Fail(stack, "Fail", error=bucket.bucket_name, cause_path=address)
    definition = Definition.from_chainable(sfn.Pass(stack, "A", parameters={"to": address}).next(fail))
    call = "States.Format('s3://${Value1}/{}', $.key)"
    assert states(definition)["A"]["Parameters"] == {"to.$": call}
    assert states(definition)["Fail"]["CausePath"] == call
    assert definition.values == {"Value1": bucket.bucket_name}
    compiled(definition)


def test_a_result_that_is_discarded_has_a_null_path(stack: Stack) -> None:
    discard = sfn.JsonPath.DISCARD
    paths: dict[str, Any] = {"input_path": discard, "output_path": discard, "result_path": discard}
    resize = function(stack)
    task = tasks.LambdaInvoke(stack, "Task", lambda_function=resize, **paths)
    call = tasks.CallAwsService(stack, "Call", service="s3", action="listBuckets", iam_resources=["*"], **paths)
    both = sfn.Parallel(stack, "Parallel", **paths).branch(sfn.Pass(stack, "B"))
    both.add_catch(sfn.Pass(stack, "Caught"), result_path=discard)
    each = sfn.Map(stack, "Map", **paths).item_processor(sfn.Pass(stack, "C"))
    definition = Definition.from_chainable(task.next(call).next(sfn.Pass(stack, "Pass", **paths)).next(both).next(each))
    found = states(definition)
    for name in ("Task", "Call", "Pass", "Parallel", "Map"):
        assert [found[name][field] for field in ("InputPath", "OutputPath", "ResultPath")] == [None] * 3
    assert found["Parallel"]["Catch"][0]["ResultPath"] is None
    assert compiled(definition).task("Task").data["ResultPath"] is None
    assert not definition.values


def test_numbers_of_retriers_and_the_time_limit_may_be_known_at_deployment(stack: Stack) -> None:
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    seconds = Duration.seconds(number)
    task = tasks.LambdaInvoke(stack, "T", lambda_function=function(stack), retry_on_service_exceptions=False)
    task.add_retry(errors=["E"], interval=seconds, max_attempts=number, backoff_rate=number, max_delay=seconds)
    definition = Definition.from_chainable(task, timeout=seconds, comment=f"in {stack.region}")
    workflow = compiled(definition)
    (rule,) = workflow.task("T").retry
    found = (rule.interval_s, rule.max_attempts, rule.backoff_rate, rule.max_delay_s, workflow.timeout_s)
    assert {*map(str, found)} == {"${Value1}"}
    assert stack.resolve(dict(definition.values)) == {"Value1": {"Ref": "Number"}}


def test_numbers_known_at_deployment_are_values(stack: Stack) -> None:
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    seconds = Duration.seconds(number)
    payload = sfn.TaskInput.from_object({"n": number, "in": [{"m": number}]})
    task = tasks.LambdaInvoke(
        stack,
        "Task",
        lambda_function=function(stack),
        payload=payload,
        task_timeout=sfn.Timeout.duration(seconds),
    )
    wait = sfn.Wait(stack, "Wait", time=sfn.WaitTime.duration(seconds))
    each = sfn.Map(stack, "Each", max_concurrency=number).item_processor(sfn.Pass(stack, "One"))
    query = sfn.Pass.jsonata(stack, "Query", outputs={"n": number, "in": [number]})
    compared = sfn.Choice(stack, "Compared").when(sfn.Condition.number_equals("$.n", number), query).otherwise(query)
    definition = Definition.from_chainable(task.next(wait).next(each).next(compared))
    found = states(definition)
    assert (found["Task"]["TimeoutSeconds"], found["Wait"]["Seconds"]) == ("${Value1}", "${Value1}")
    assert found["Each"]["MaxConcurrency"] == "${Value1}"
    assert found["Compared"]["Choices"][0]["NumericEquals"] == "${Value1}"
    text = "States.StringToJson('${Value1}')"
    assert found["Task"]["Parameters"]["Payload"] == {"n.$": text, "in": [{"m.$": text}]}
    assert found["Query"]["Output"] == {"n": "{% ${Value1} %}", "in": ["{% ${Value1} %}"]}
    assert stack.resolve(dict(definition.values)) == {"Value1": {"Ref": "Number"}}
    assert compiled(definition)


def test_numbers_known_at_deployment_may_stand_in_constants_and_arrays(stack: Stack) -> None:
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    constant = sfn.Pass(stack, "Constant", result=sfn.Result.from_object({"n": number, "in": [number, "n"]}))
    whole = sfn.Pass(stack, "Whole", result=sfn.Result.from_number(number))
    template = sfn.Pass(stack, "Template", parameters={"in": [number, {"n": number}], "n": number})
    definition = Definition.from_chainable(constant.next(whole).next(template))
    found = states(definition)
    assert found["Constant"]["Result"] == {"n": "${Number1}", "in": ["${Number1}", "n"]}
    assert found["Whole"]["Result"] == "${Number1}"
    assert found["Template"]["Parameters"]["in"][0] == "${Number1}"
    values = stack.resolve(dict(definition.values))
    assert values == {"Number1": {"Ref": "Number"}, "Value1": {"Ref": "Number"}}
    ir = json.loads(fill(compiled(definition).to_json(), dict.fromkeys(values, "2.5")))
    assert ir["states"]["Constant"]["data"]["Result"] == {"n": 2.5, "in": [2.5, "n"]}
    assert ir["states"]["Whole"]["data"]["Result"] == 2.5
    assert ir["states"]["Template"]["data"]["Parameters"]["in"][0] == 2.5


@pytest.mark.parametrize("given", ['"2"', "true", "2, 3", "{}", "", "NaN"])
def test_only_a_number_takes_the_place_of_a_number(given: str) -> None:
    with pytest.raises(DefinitionError, match=r"\$\{Number1\}: expected a number from the deployment, got"):
        fill('{"n": "${Number1}"}', {"Number1": given})


def test_arrays_of_deployment_texts_may_stand_in_constants_and_templates(stack: Stack) -> None:
    for other in range(1000):  # tokens are numbered, and the number is part of what they look like
        Token.as_number({"Ref": f"Other{other}"})
    array = Fn.split(",", Fn.ref("List"))
    constant = sfn.Pass(stack, "Constant", result=sfn.Result.from_object({"array": array}))
    template = sfn.Pass(stack, "Template", parameters={"in": {"array": array}})
    query = sfn.Pass.jsonata(stack, "Query", outputs={"in": [array]})
    definition = Definition.from_chainable(constant.next(template).next(query))
    assert stack.resolve(dict(definition.values)) == {
        "Array1": {"Fn::Join": ["\n", {"Fn::Split": [",", {"Ref": "List"}]}]}
    }

    def filled(value: str) -> list[Any]:
        found = json.loads(fill(compiled(definition).to_json(), {"Array1": value}))["states"]
        constant, template, query = (found[name]["data"] for name in ("Constant", "Template", "Query"))
        return [constant["Result"]["array"], template["Parameters"]["in"]["array"], query["Output"]["in"][0]]

    assert filled('a\nb "c"') == [["a", 'b "c"']] * 3
    assert filled("") == [[]] * 3


def test_arrays_known_at_deployment_are_refused_at_other_places() -> None:
    array = Fn.split(",", Fn.ref("List"))
    machine = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Comment": array, "End": True}}}
    with pytest.raises(DefinitionError, match="CDK token") as caught:
        compiled(Definition.from_asl(machine).bind({}))
    assert "$.States.A.Comment[0]" in {problem.path for problem in caught.value.problems}


def test_labels_known_at_deployment_are_values(stack: Stack) -> None:
    each = sfn.DistributedMap(stack, "Each", label=f"run-{Fn.ref('Stage')}").item_processor(sfn.Pass(stack, "One"))
    definition = Definition.from_chainable(each)
    assert states(definition)["Each"]["Label"] == "run-${Value1}"
    assert compiled(definition)


def pass_with(stack: Stack, result: Any) -> sfn.CustomState:
    return sfn.CustomState(stack, "A", state_json={"Type": "Pass", "Result": result})


def test_wait_and_parallel(stack: Stack) -> None:
    wait = sfn.Wait(stack, "Wait", time=sfn.WaitTime.duration(Duration.seconds(5)))
    both = sfn.Parallel(stack, "Both").branch(sfn.Pass(stack, "A")).branch(sfn.Pass(stack, "B"))
    workflow = compiled(Definition.from_chainable(wait.next(both)))
    assert isinstance(workflow.states["Wait"], Wait)
    assert workflow.fan_out("Both").pure


def test_an_activity_is_named_by_its_id(stack: Stack) -> None:
    task = tasks.StepFunctionsInvokeActivity(stack, "Ask", activity=sfn.Activity(stack, "People"))
    assert states(Definition.from_chainable(task))["Ask"]["Resource"] == "arn:aws:states:::activity:People"


def test_functions_with_the_same_id_are_told_apart_by_their_path(stack: Stack) -> None:
    one, two = function(Construct(stack, "One")), function(Construct(stack, "Two"))
    first = tasks.LambdaInvoke(stack, "A", lambda_function=one)
    second = tasks.LambdaInvoke(stack, "B", lambda_function=two)
    assert Definition.from_chainable(first.next(second)).functions == {"Resize": one, "Two-Resize": two}


def test_functions_that_cannot_be_nodes_come_along_to_be_refused_by_name(stack: Stack) -> None:
    alias = function(stack).add_alias("live")
    imported = lambda_.Function.from_function_arn(stack, "Far", "arn:aws:lambda:eu-west-1:123456789012:function:far")
    first = tasks.LambdaInvoke(stack, "A", lambda_function=alias)
    second = tasks.LambdaInvoke(stack, "B", lambda_function=imported)
    assert Definition.from_chainable(first.next(second)).functions.keys() == {"Aliaslive", "Far"}
