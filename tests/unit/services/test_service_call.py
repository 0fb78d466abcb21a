"""Calls of services, against moto."""

import hashlib
import io
import json
import zipfile
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, call
from unum_runtime.features.services.api_request import failure
from unum_runtime.features.services.operation import parse


def failing(resource: str, parameters: Any, clients: Clients) -> StatesError:
    with pytest.raises(StatesError) as caught:
        call(resource, parameters, clients=clients)
    return caught.value


def test_an_optimized_integration_tells_of_the_http_response(clients: Clients, table: str) -> None:
    result = call("dynamodb:putItem", {"TableName": table, "Item": {"id": {"S": "a"}}}, clients=clients)
    assert result.keys() == {"SdkHttpMetadata", "SdkResponseMetadata"}
    metadata = result["SdkHttpMetadata"]
    assert metadata["HttpStatusCode"] == 200
    assert all([value] == metadata["AllHttpHeaders"][name] for name, value in metadata["HttpHeaders"].items())


def test_an_aws_sdk_integration_gives_the_response_alone(clients: Clients, table: str) -> None:
    item = {"id": {"S": "a"}, "amount": {"N": "5"}}
    assert call("aws-sdk:dynamodb:putItem", {"TableName": table, "Item": item}, clients=clients) == {}
    found = call("aws-sdk:dynamodb:getItem", {"TableName": table, "Key": {"id": {"S": "a"}}}, clients=clients)
    assert found == {"Item": item}


def test_no_parameters_are_the_same_as_none(clients: Clients) -> None:
    assert call("aws-sdk:secretsmanager:listSecrets", None, clients=clients) == {"SecretList": []}


@pytest.mark.parametrize(
    ("resource", "error", "service"),
    [
        ("dynamodb:putItem", "DynamoDB", "(Service: AmazonDynamoDBv2; Status Code: 400; Error Code: "),
        ("aws-sdk:dynamodb:putItem", "DynamoDb", "(Service: DynamoDb, Status Code: 400, Request ID: "),
    ],
)
def test_errors_have_the_name_of_their_integration(
    clients: Clients, table: str, resource: str, error: str, service: str
) -> None:
    once = {"TableName": table, "Item": {"id": {"S": "a"}}, "ConditionExpression": "attribute_not_exists(id)"}
    call(resource, once, clients=clients)
    failed = failing(resource, once, clients)
    assert failed.error == f"{error}.ConditionalCheckFailedException"
    assert service in failed.cause


@pytest.mark.parametrize(
    ("resource", "parameters", "error"),
    [
        (
            "states:startExecution",
            {"StateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:none"},
            "StepFunctions.StateMachineDoesNotExistException",
        ),
        (
            "sns:publish",
            {"TopicArn": "arn:aws:sns:us-east-1:123456789012:none", "Message": "a"},
            "SNS.NotFoundException",
        ),
        (
            "sqs:sendMessage",
            {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/none", "MessageBody": "a"},
            "SQS.QueueDoesNotExistException",
        ),
        ("aws-sdk:s3:getObject", {"Bucket": "shelf", "Key": "none"}, "S3.NoSuchKeyException"),
        ("aws-sdk:s3:headObject", {"Bucket": "shelf", "Key": "none"}, "S3.NoSuchKeyException"),
        ("aws-sdk:rds:deleteDBInstance", {"DbInstanceIdentifier": "none"}, "Rds.DbInstanceNotFoundException"),
        (
            "dynamodb:putItem",
            {"TableName": "orders", "Item": {"no key": {"S": "a"}}},
            "DynamoDB.AmazonDynamoDBException",
        ),
        ("aws-sdk:dynamodb:putItem", {"TableName": "orders", "Item": {"no": {"S": "a"}}}, "DynamoDb.DynamoDbException"),
    ],
)
@pytest.mark.usefixtures("table", "bucket")
def test_errors(clients: Clients, resource: str, parameters: Any, error: str) -> None:
    assert failing(resource, parameters, clients).error == error


@pytest.mark.parametrize(
    ("resource", "error"),
    [("sqs:sendMessage", "SQS.SdkClientException"), ("aws-sdk:sqs:sendMessage", "Sqs.SdkClientException")],
)
def test_a_service_that_does_not_answer(resource: str, error: str) -> None:
    silence = EndpointConnectionError(endpoint_url="https://sqs.us-east-1.amazonaws.com")
    assert failure(parse(resource), "SQS", silence).error == error


def test_a_field_that_does_not_exist(clients: Clients) -> None:
    failed = failing("aws-sdk:s3:getObject", {"Bucket": "b", "Kee": "k"}, clients)
    assert failed.error == "States.Runtime"
    assert "'Kee'" in failed.cause
    assert "Key" in failed.cause


def test_the_body_of_an_object_is_text(clients: Clients, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "a.json"}
    call("aws-sdk:s3:putObject", {**at, "Body": {"a": [1, "é"]}}, clients=clients)
    found = call("aws-sdk:s3:getObject", at, clients=clients)
    assert found["Body"] == '{"a":[1,"é"]}'
    assert found["ETag"].startswith('"')
    assert found["ContentLength"] == len(found["Body"].encode())
    assert found["LastModified"].endswith("Z")
    assert "ResponseMetadata" not in found


def test_bytes_that_are_no_text_are_base64(aws: boto3.Session, clients: Clients, bucket: str) -> None:
    aws.client("s3").put_object(Bucket=bucket, Key="k", Body=b"\xff\x00")
    assert call("aws-sdk:s3:getObject", {"Bucket": bucket, "Key": "k"}, clients=clients)["Body"] == "/wA="


def test_messages_may_be_objects(aws: boto3.Session, clients: Clients) -> None:
    sqs, sns = aws.client("sqs"), aws.client("sns")
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    sent = call("sqs:sendMessage", {"QueueUrl": queue, "MessageBody": {"a": 1}}, clients=clients)
    assert {"MessageId", "MD5OfMessageBody"} <= sent.keys()
    assert sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"] == '{"a":1}'
    topic = sns.create_topic(Name="t")["TopicArn"]
    assert "MessageId" in call("sns:publish", {"TopicArn": topic, "Message": {"a": 1}}, clients=clients)


def test_events(clients: Clients) -> None:
    entry = {"Detail": {"a": 1}, "DetailType": "t", "Source": "s"}
    result = call("events:putEvents", {"Entries": [entry]}, clients=clients)
    assert result["FailedEntryCount"] == 0
    assert result.keys() == {"Entries", "FailedEntryCount"}


def test_an_event_that_was_not_taken_is_an_error(clients: Clients) -> None:
    client = clients.client("events")
    with Stubber(client) as stub:
        stub.add_response("put_events", {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "InternalFailure"}]})
        failed = failing("events:putEvents", {"Entries": [{"Detail": "{}"}]}, clients)
    assert failed.error == "EventBridge.FailedEntry"
    assert json.loads(failed.cause)["Entries"] == [{"ErrorCode": "InternalFailure"}]


def test_an_execution_is_named_by_the_token(aws: boto3.Session, clients: Clients, machine: str) -> None:
    parameters = {"StateMachineArn": machine, "Input": {"a": 1}}
    started = call("states:startExecution", parameters, clients=clients, token="t-1")
    assert started["ExecutionArn"].endswith(":t-1")
    assert isinstance(started["StartDate"], int)
    described = aws.client("stepfunctions").describe_execution(executionArn=started["ExecutionArn"])
    assert described["input"] == '{"a":1}'
    named = call("states:startExecution", {**parameters, "Name": "mine"}, clients=clients, token="t-2")
    assert named["ExecutionArn"].endswith(":mine")


def test_an_execution_that_was_started_before_is_the_same_one(
    aws: boto3.Session, clients: Clients, machine: str
) -> None:
    parameters = {"StateMachineArn": machine, "Input": {"a": 1}}
    started = call("states:startExecution", parameters, clients=clients, token="t-1")
    aws.client("stepfunctions").stop_execution(executionArn=started["ExecutionArn"])
    again = call("states:startExecution", {**parameters, "Input": {"a": 2}}, clients=clients, token="t-1")
    assert again == {"ExecutionArn": started["ExecutionArn"]}
    taken = failing("states:startExecution", {**parameters, "Name": "t-1", "Input": {"a": 2}}, clients)
    assert taken.error == "StepFunctions.ExecutionAlreadyExistsException"


def test_no_input_of_an_execution_is_an_empty_object(aws: boto3.Session, clients: Clients, machine: str) -> None:
    started = call("states:startExecution", {"StateMachineArn": machine, "Input": None}, clients=clients)
    described = aws.client("stepfunctions").describe_execution(executionArn=started["ExecutionArn"])
    assert described["input"] == "{}"


def stubbed(clients: Clients, response: dict[str, Any], expected: dict[str, Any], payload: Any) -> Any:
    client = clients.client("lambda")
    with Stubber(client) as stub:
        stub.add_response("invoke", response, expected)
        return call("lambda:invoke", {"FunctionName": "f", "Payload": payload}, clients=clients)


def test_the_payload_of_a_function_is_a_json_value(clients: Clients) -> None:
    answer = {"StatusCode": 200, "ExecutedVersion": "$LATEST", "Payload": io.BytesIO(b'"b"')}
    result = stubbed(clients, answer, {"FunctionName": "f", "Payload": b'"a"'}, "a")
    assert (result["Payload"], result["StatusCode"], result["ExecutedVersion"]) == ("b", 200, "$LATEST")


@pytest.mark.parametrize(
    ("payload", "error"), [(b'{"errorType": "Oops", "errorMessage": "no"}', "Oops"), (b"null", "Lambda.Unknown")]
)
def test_an_error_of_a_function_has_its_own_name(clients: Clients, payload: bytes, error: str) -> None:
    answer = {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": io.BytesIO(payload)}
    with pytest.raises(StatesError) as caught:
        stubbed(clients, answer, {"FunctionName": "f", "Payload": b"{}"}, {})
    assert (caught.value.error, caught.value.cause) == (error, payload.decode())


def test_a_model_s_answer_is_parsed_and_its_prompt_may_be_in_s3(clients: Clients, bucket: str) -> None:
    call("aws-sdk:s3:putObject", {"Bucket": bucket, "Key": "p/q.json", "Body": '{"a":1}'}, clients=clients)
    client = clients.client("bedrock-runtime")
    with Stubber(client) as stub:
        stub.add_response(
            "invoke_model",
            {"body": io.BytesIO(b'{"b":2}'), "contentType": "application/json"},
            {"modelId": "m", "body": b'{"a":1}'},
        )
        parameters = {"ModelId": "m", "Input": {"S3Uri": f"s3://{bucket}/p/q.json"}}
        result = call("bedrock:invokeModel", parameters, clients=clients)
    assert result == {"Body": {"b": 2}, "ContentType": "application/json"}


def test_a_model_s_answer_may_go_to_s3(aws: boto3.Session, clients: Clients, bucket: str) -> None:
    client = clients.client("bedrock-runtime")
    with Stubber(client) as stub:
        answer = {"body": io.BytesIO(b'{"b":2}'), "contentType": "application/json"}
        stub.add_response("invoke_model", answer, {"modelId": "m", "body": b"{}"})
        parameters = {"ModelId": "m", "Body": {}, "Output": {"S3Uri": f"s3://{bucket}/answers/1"}}
        result = call("bedrock:invokeModel", parameters, clients=clients)
    assert result == {"Body": f"s3://{bucket}/answers/1", "ContentType": "application/json"}
    written = aws.client("s3").get_object(Bucket=bucket, Key="answers/1")
    assert (written["Body"].read(), written["ContentType"]) == (b'{"b":2}', "application/json")


@pytest.mark.parametrize("place", [{}, "s3://b/k", {"S3Uri": "s3://b"}, {"S3Uri": 1}])
@pytest.mark.parametrize("field", ["Input", "Output"])
def test_a_model_without_a_usable_object(clients: Clients, field: str, place: Any) -> None:
    with (
        Stubber(clients.client("bedrock-runtime")),  # which expects no request
        pytest.raises(StatesError, match=rf"\$\.{field}: The field 'S3Uri' is required"),
    ):
        call("bedrock:invokeModel", {"ModelId": "m", field: place}, clients=clients)


def test_the_token_goes_where_the_api_has_a_place_for_it(clients: Clients) -> None:
    client = clients.client("athena")
    with Stubber(client) as stub:
        digest = hashlib.sha256(b"too short").hexdigest()
        stub.add_response(
            "start_query_execution", {"QueryExecutionId": "i"}, {"QueryString": "q", "ClientRequestToken": digest}
        )
        result = call("athena:startQueryExecution", {"QueryString": "q"}, clients=clients, token="too short")
    assert result["QueryExecutionId"] == "i"


def test_a_function_of_lambda_is_listed_with_its_names_in_pascal_case(aws: boto3.Session, clients: Clients) -> None:
    role = aws.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("f.py", "")
    aws.client("lambda").create_function(
        FunctionName="f", Runtime="python3.12", Role=role, Handler="f.f", Code={"ZipFile": code.getvalue()}
    )
    (function,) = call("aws-sdk:lambda:listFunctions", {}, clients=clients)["Functions"]
    assert function["FunctionName"] == "f"
    assert function["CodeSha256"]
