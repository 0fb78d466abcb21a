"""Addresses of functions: versions and aliases, their shared and separate settings, and function URLs.

An event source that names an alias invokes the alias: the handler sees it in `context.invoked_function_arn`, and its
own EventInvokeConfig applies. Reserved concurrency belongs to the function with all its versions.
https://docs.aws.amazon.com/lambda/latest/dg/configuration-aliases.html
https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html ministack loses the alias of every event
that bypasses the Invoke API, and the reserved concurrency of every qualified invocation.

On AWS each function URL has a host of its own, which no name server knows here. ministack serves both forms, but hands
out the host alone. Here such an URL is a path of the emulator's endpoint.
"""

import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ministack.services import lambda_svc

from unum_emulator.aws_lambda.function_version import FunctionRef
from unum_emulator.patching import replace

Record = Mapping[str, Any]


def install() -> None:
    """Correct ministack's resolution of qualifiers, and hand out function URLs below the endpoint."""
    _serve_urls()
    original = replace(lambda_svc, "_effective_func_record_for_qualifier", None)

    def effective_record(func: Record | None, qualifier: str | None) -> tuple[Record | None, Record | None]:
        record, config = original(func, qualifier)
        if func is None or record is None or not qualifier:
            return record, config
        arn = FunctionRef.parse(func["config"]["FunctionArn"]).unqualified
        named = {**config, "FunctionArn": f"{arn}:{qualifier}"}
        return {**record, "config": named}, named

    replace(lambda_svc, "_effective_func_record_for_qualifier", effective_record)
    replace(lambda_svc, "_reserved_concurrency", _reserved_concurrency)


def _reserved_concurrency(_func: Record, config: Record) -> int | None:
    reserved: int | None = FunctionRef.parse(config["FunctionArn"]).base_record().get("concurrency")
    return reserved


_PATH = "/_aws/lambda-url/"


def _serve_urls() -> None:
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
