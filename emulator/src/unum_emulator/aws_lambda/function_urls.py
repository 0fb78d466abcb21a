"""Addresses of function URLs at which the emulator answers: a path of its endpoint.

On AWS each function URL has a host of its own, which no name server knows here. ministack serves both forms, but hands
out the host alone.
"""

import os
from http import HTTPStatus
from typing import Any

from ministack.services import lambda_svc

from unum_emulator.patching import replace

_PATH = "/_aws/lambda-url/"


def install() -> None:
    """Hand out function URLs below the endpoint, and know a function by such a URL."""
    create = replace(lambda_svc, "_create_function_url_config", None)
    identify = replace(lambda_svc, "_function_url_id", None)

    def create_url(name: str, data: dict[str, Any], qualifier: str | None) -> Any:
        status, headers, body = create(name, data, qualifier)
        if status != HTTPStatus.CREATED:
            return status, headers, body
        config = lambda_svc._function_urls[lambda_svc._url_config_key(name, qualifier)]
        config["FunctionUrl"] = f"{os.environ['AWS_ENDPOINT_URL']}{_PATH}{identify(config['FunctionUrl'])}/"
        return lambda_svc.json_response(config, status=status)

    def url_id(url: str) -> str:
        return url.rpartition(_PATH)[2].strip("/") if _PATH in url else identify(url)

    replace(lambda_svc, "_create_function_url_config", create_url)
    replace(lambda_svc, "_function_url_id", url_id)
