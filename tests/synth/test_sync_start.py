"""Alias that answers HTTP requests with results, in templates."""

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_apigatewayv2_integrations as integrations

from tests.synth.deployment import Deployment
from tests.synth.machines import chain
from tests.synth.test_control_function import ALWAYS, names_of
from tests.synth.test_permanent_address import flow_of

ALIAS = "Flow/ControlFunction/Sync"


def test_workflow_without_synchronous_starts_has_no_alias_for_them() -> None:
    assert names_of(flow_of(chain("A"), "A")[0]) == {*ALWAYS}


def test_integrations_share_one_alias_which_is_all_that_they_add() -> None:
    deployment, flow = flow_of(chain("A"), "A")
    rest = apigateway.RestApi(deployment.stack, "Rest")
    rest.root.add_method("POST", apigateway.LambdaIntegration(flow.sync_start_alias))
    http = apigatewayv2.HttpApi(deployment.stack, "Http")
    http.add_routes(path="/", integration=integrations.HttpLambdaIntegration("Run", flow.sync_start_alias))
    assert names_of(deployment) == {*ALWAYS, "sync"}
    without = Deployment.of(chain("A"), "A").template["Resources"]
    own = {each for each in deployment.template["Resources"].keys() - without.keys() if each.startswith("Flow")}
    made = [each for each in own if deployment.template["Resources"][each]["Type"] != "AWS::Lambda::Permission"]
    assert made == [deployment.logical_id(ALIAS)]
    invoked = {each["FunctionName"]["Ref"] for each in map(_properties, deployment.all("Lambda::Permission").values())}
    assert invoked == {deployment.logical_id(ALIAS)}


def _properties(resource: object) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = resource["Properties"]  # type: ignore[index]
    return found
