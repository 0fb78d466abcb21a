from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

CODE = str(Path(__file__).parent / "functions")

DEFINITION = {
    "StartAt": "Double",
    "States": {
        "Double": {"Type": "Task", "Resource": "Double", "ResultPath": "$.result", "Next": "IsSlow"},
        "IsSlow": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.seconds", "NumericGreaterThan": 0, "Next": "Slow"}],
            "Default": "Done",
        },
        "Slow": {"Type": "Wait", "SecondsPath": "$.seconds", "Next": "Done"},
        "Done": {"Type": "Pass", "OutputPath": "$.result", "End": True},
    },
}


class Outside(Stack):
    """A workflow, and functions outside of it that call boto3's methods: with all grants, with one, and with none."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        double = UnumFunction(self, "Double", handler="tasks.double", code=lambda_.Code.from_asset(CODE))
        self.workflow = UnumWorkflow(
            self, "Workflow", definition=Definition.from_asl(DEFINITION), functions={"Double": double}
        )
        everything = self._caller("Everything")
        flow = self.workflow
        for grant in (flow.grant_start_sync, flow.grant_stop, flow.grant_redrive, flow.grant_read):
            grant(everything)
        self.workflow.grant_start_execution(self._caller("Starting"))
        self.workflow.grant_describe(self._caller("Describing"))
        self._add_http()
        CfnOutput(self, "Machine", value=self.workflow.state_machine_arn)

    def _add_http(self) -> None:
        """Answer HTTP requests with results, by a REST API, an HTTP API and a function URL."""
        alias = self.workflow.sync_start_alias
        rest = apigateway.RestApi(self, "Rest", cloud_watch_role=False)
        rest.root.add_method("POST", apigateway.LambdaIntegration(alias))
        http = apigatewayv2.HttpApi(self, "Http")
        http.add_routes(path="/double", integration=integrations.HttpLambdaIntegration("Double", alias))
        url = alias.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
        for name, value in {"RestId": rest.rest_api_id, "HttpId": http.api_id, "Url": url.url}.items():
            CfnOutput(self, name, value=value)

    def _caller(self, construct_id: str) -> lambda_.Function:
        code = lambda_.Code.from_asset(CODE, exclude=["__pycache__"])
        function = lambda_.Function(
            self, construct_id, runtime=lambda_.Runtime.PYTHON_3_13, handler="calling.handle", code=code
        )
        CfnOutput(self, f"{construct_id}Name", value=function.function_name)
        return function
