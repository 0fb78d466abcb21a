"""Versions and aliases: shared and separate settings.

An event source that names an alias invokes the alias: the handler sees it in `context.invoked_function_arn`, and its
own EventInvokeConfig applies. Reserved concurrency belongs to the function with all its versions.
https://docs.aws.amazon.com/lambda/latest/dg/configuration-aliases.html
https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html ministack loses the alias of every event
that bypasses the Invoke API, and the reserved concurrency of every qualified invocation.
"""

from collections.abc import Mapping
from typing import Any

from ministack.services import lambda_svc

from unum_emulator.aws_lambda.function import FunctionRef
from unum_emulator.patching import replace

Record = Mapping[str, Any]


def install() -> None:
    """Correct ministack's resolution of qualifiers."""
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
