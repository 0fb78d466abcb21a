"""Function URLs: the address that is handed out is one at which the function answers."""

import urllib.request
from typing import Any

ECHO = """
    def handler(event, context):
        return {"statusCode": 200, "body": context.invoked_function_arn + event["rawPath"]}
"""


def got(url: str) -> str:
    with urllib.request.urlopen(url) as response:  # noqa: S310 - a loopback address
        return str(response.read().decode())


def test_a_url_leads_to_its_function_or_alias(cloud: Any) -> None:
    name = cloud.function(ECHO, Publish=True)
    cloud.awslambda.create_alias(FunctionName=name, Name="live", FunctionVersion="1")
    plain = cloud.awslambda.create_function_url_config(FunctionName=name, AuthType="NONE")["FunctionUrl"]
    of_alias = cloud.awslambda.create_function_url_config(FunctionName=name, Qualifier="live", AuthType="NONE")
    assert got(plain).endswith(f":{name}/")
    assert got(f"{plain}orders/7").endswith(f":{name}/orders/7")
    assert got(of_alias["FunctionUrl"]).endswith(f":{name}:live/")


def test_everybody_is_told_the_same_url(cloud: Any) -> None:
    name = cloud.function(ECHO)
    url = cloud.awslambda.create_function_url_config(FunctionName=name, AuthType="NONE")["FunctionUrl"]
    assert cloud.awslambda.get_function_url_config(FunctionName=name)["FunctionUrl"] == url
    assert cloud.awslambda.update_function_url_config(FunctionName=name, AuthType="NONE")["FunctionUrl"] == url
    (listed,) = cloud.awslambda.list_function_url_configs(FunctionName=name)["FunctionUrlConfigs"]
    assert listed["FunctionUrl"] == url
