"""Mapping templates of REST APIs."""

import json
from typing import Any

import pytest

URI = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/{}/invocations"
ECHO = "def handler(event, context): return event"
ROLE = "arn:aws:iam::000000000000:role/any"
LOOP = """
#set($all = $input.params())
#set($text = "")
#foreach($name in $all.querystring.keySet())
#set($text = "$text@@$name@@: @@$util.escapeJavaScript($all.querystring.get($name))@@")
#if($foreach.hasNext)#set($text = "$text, ")#end
#end
{"body": $input.json('$'), "query": {$text.replaceAll("@@", '"')}, "stage": "$context.stage"}
"""


def _method(integration: dict[str, Any]) -> dict[str, Any]:
    """Return a template of an API with one method."""
    responses = [{"StatusCode": "200"}]
    return {
        "Api": {"Type": "AWS::ApiGateway::RestApi", "Properties": {"Name": "mapped"}},
        "Method": {
            "Type": "AWS::ApiGateway::Method",
            "Properties": {
                "RestApiId": {"Ref": "Api"},
                "ResourceId": {"Fn::GetAtt": ["Api", "RootResourceId"]},
                "HttpMethod": "POST",
                "AuthorizationType": "NONE",
                "Integration": {
                    "Type": "AWS",
                    "IntegrationHttpMethod": "POST",
                    "IntegrationResponses": responses,
                    **integration,
                },
                "MethodResponses": responses,
            },
        },
        "Deployment": {
            "Type": "AWS::ApiGateway::Deployment",
            "DependsOn": ["Method"],
            "Properties": {"RestApiId": {"Ref": "Api"}, "StageName": "prod"},
        },
    }


def _deploy(cloud: Any, name: str, integration: dict[str, Any]) -> tuple[str, str]:
    """Return the id of the API, and the reason of a failure."""
    template = {"Resources": _method(integration), "Outputs": {"Id": {"Value": {"Ref": "Api"}}}}
    stacks = cloud.client("cloudformation")
    stacks.create_stack(StackName=name, TemplateBody=json.dumps(template))
    cloud.until(lambda: not stacks.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"].endswith("IN_PROGRESS"))
    events = stacks.describe_stack_events(StackName=name)["StackEvents"]
    reasons = [event.get("ResourceStatusReason", "") for event in events if event["LogicalResourceId"] == "Method"]
    outputs = stacks.describe_stacks(StackName=name)["Stacks"][0].get("Outputs", ())
    return "".join(each["OutputValue"] for each in outputs), "".join(reasons)


def _ask(cloud: Any, api: str, body: Any, query: str = "", kind: str = "application/json") -> Any:
    target, data = f"/restapis/{api}/prod/_user_request_/{query}", json.dumps(body).encode()
    headers = {**cloud.signed("POST", target, data, service="execute-api"), "content-type": kind}
    answer = cloud.send_raw("POST", target, data, headers)
    return answer.status, json.loads(answer.body)


def test_template_makes_the_event_of_a_function(cloud: Any) -> None:
    uri = URI.format(f"arn:aws:lambda:us-east-1:000000000000:function:{cloud.function(ECHO)}")
    api, reason = _deploy(cloud, "mapped-event", {"Uri": uri, "RequestTemplates": {"application/json": LOOP}})
    assert reason == ""
    expected = {"body": {"n": [1, 2]}, "query": {"a": 'x"y', "b": "2"}, "stage": "prod"}
    assert _ask(cloud, api, {"n": [1, 2]}, "?a=x%22y&b=2") == (200, expected)


def test_body_is_the_event_without_a_template(cloud: Any) -> None:
    uri = URI.format(f"arn:aws:lambda:us-east-1:000000000000:function:{cloud.function(ECHO)}")
    api, _ = _deploy(cloud, "unmapped-event", {"Uri": uri})
    assert _ask(cloud, api, {"n": 1}) == (200, {"n": 1})


def test_template_starts_a_state_machine(cloud: Any) -> None:
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    states = cloud.client("stepfunctions")
    machine = states.create_state_machine(name="mapped", definition=definition, roleArn=ROLE)["stateMachineArn"]
    template = f'{{"stateMachineArn": "{machine}", "input": "$util.escapeJavaScript($input.json(\'$.order\'))"}}'
    uri = "arn:aws:apigateway:us-east-1:states:action/StartExecution"
    api, reason = _deploy(cloud, "mapped-start", {"Uri": uri, "RequestTemplates": {"application/json": template}})
    assert reason == ""
    status, answer = _ask(cloud, api, {"order": {"note": 'a "word"'}})
    assert status == 200
    found = states.describe_execution(executionArn=answer["executionArn"])
    assert json.loads(found["input"]) == {"note": 'a "word"'}


@pytest.mark.parametrize(
    ("integration", "named"),
    [
        ({"Uri": "arn:aws:apigateway:us-east-1:kinesis:action/PutRecord"}, "got kinesis:action/PutRecord"),
        ({"Uri": URI.format("f"), "RequestTemplates": {"application/json": "$util.toXml(1)"}}, "no $util.toXml"),
        ({"Uri": URI.format("f"), "RequestTemplates": {"application/json": "#if($a) b"}}, "mapping template"),
    ],
    ids=["service", "function", "syntax"],
)
def test_what_does_not_work_is_refused_by_name(cloud: Any, integration: dict[str, Any], named: str) -> None:
    _, reason = _deploy(cloud, f"refused-{len(named)}", integration)
    assert named in reason
