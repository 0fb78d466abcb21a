"""A function version's data for a sandbox, from ministack's record."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ministack import app
from ministack.services import lambda_svc

from unum_emulator.aws_services.message_senders import session_token

# Variables that Lambda sets, and that a function's configuration cannot change.
# https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
RESERVED = frozenset(
    {
        "_HANDLER",
        "_X_AMZN_TRACE_ID",
        "AWS_DEFAULT_REGION",
        "AWS_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
        "AWS_LAMBDA_FUNCTION_VERSION",
        "AWS_LAMBDA_INITIALIZATION_TYPE",
        "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_STREAM_NAME",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_LAMBDA_RUNTIME_API",
        "LAMBDA_TASK_ROOT",
        "LAMBDA_RUNTIME_DIR",
    }
)


@dataclass(frozen=True)
class FunctionRef:
    """Parts of a function's ARN; `qualifier` is a version, an alias, or empty."""

    account: str
    region: str
    name: str
    qualifier: str

    @classmethod
    @lru_cache(1024)
    def parse(cls, arn: str) -> "FunctionRef":
        """Parse `arn:aws:lambda:REGION:ACCOUNT:function:NAME[:QUALIFIER]`."""
        _arn, _partition, _service, region, account, _function, name, *qualifier = arn.split(":")
        return cls(account=account, region=region, name=name, qualifier="".join(qualifier))

    def __str__(self) -> str:
        return f"{self.unqualified}:{self.qualifier}" if self.qualifier else self.unqualified

    @property
    def unqualified(self) -> str:
        """The function's ARN without qualifier."""
        return f"arn:aws:lambda:{self.region}:{self.account}:function:{self.name}"

    def base_record(self) -> dict[str, Any]:
        """Return ministack's record of the function, with the settings that all versions share."""
        record: dict[str, Any] = lambda_svc._functions.get_scoped(self.account, self.region, self.name, {})
        return record


@dataclass(frozen=True, kw_only=True)
class FunctionVersion:
    """Code and configuration of a sandbox; functions with equal keys may share one."""

    key: str
    ref: FunctionRef
    version: str
    handler: str
    runtime: str
    memory_mb: int
    timeout_s: int
    log_group: str
    variables: Mapping[str, str]
    credentials: Mapping[str, str]
    code: bytes
    layers: tuple[bytes, ...]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "FunctionVersion":
        """Read an executor's record, in the scope of its account and region."""
        config = record["config"]
        ref = FunctionRef.parse(config["FunctionArn"])
        layers = [lambda_svc._resolve_layer_zip(layer) for layer in config.get("Layers") or []]
        variables = (config.get("Environment") or {}).get("Variables") or {}
        return cls(
            # The revision changes with every update, so an update never reaches a warm sandbox of the old
            # code.
            key=f"{ref.unqualified}:{config['Version']}:{config['RevisionId']}",
            ref=ref,
            version=config["Version"],
            handler=config["Handler"],
            runtime=config["Runtime"],
            memory_mb=int(config["MemorySize"]),
            timeout_s=int(config["Timeout"]),
            log_group=(config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{ref.name}",
            variables={name: value for name, value in variables.items() if name not in RESERVED},
            credentials=role_credentials(config),
            code=record["code_zip"],
            layers=tuple(layer for layer in layers if layer),
        )


def role_credentials(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the role's credentials as environment variables, equal for all versions of a function."""
    unqualified = FunctionRef.parse(config["FunctionArn"]).unqualified
    credentials = lambda_svc.execution_credentials({**config, "FunctionArn": unqualified})
    if not app.AUTH:
        credentials["AWS_SESSION_TOKEN"] = session_token(config["Role"], config["FunctionName"])
    return {name: value for name, value in credentials.items() if value}
