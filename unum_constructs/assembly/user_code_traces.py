"""User code traces: kinds per function, with variables and layers."""

from collections.abc import Iterable, Mapping

from constructs import Construct
from jsii.errors import JSIIError

from unum_constructs.cdk.argument_checks import check_types
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host
from unum_constructs.layer.opentelemetry import OpenTelemetry, SdkMissingError, add_sdk
from unum_runtime.functions.configuration import OPENTELEMETRY, XRAY


def trace_user_code(workflow: Construct, option: OpenTelemetry | None, hosts: Iterable[Host]) -> tuple[str, ...]:
    """Let the functions among `hosts` with user code trace it; return the kinds of traces.

    Args:
        workflow: the workflow.
        option: spans of OpenTelemetry; None for none.
        hosts: functions of the workflow. Those with active tracing send segments to X-Ray.

    Raises:
        ConstructError: the option has another type, the SDK is not installed, or a function has too many layers.
    """
    check_types(workflow, OpenTelemetry, {"monitoring.opentelemetry": option})
    found: dict[str, None] = {}
    for host in dict.fromkeys(hosts):
        if not host.has_user_code:
            continue
        kinds = [*([OPENTELEMETRY] if option is not None else []), *([XRAY] if host.is_traced else [])]
        # A function of another workflow may have the layers already, and Lambda refuses one layer twice.
        if option is not None and host.takes_layers and OPENTELEMETRY not in host.traces:
            _add_layers(workflow, host, option)
        host.trace(kinds, _variables(option))
        found |= dict.fromkeys(kinds)
    return (*found,)


def _variables(option: OpenTelemetry | None) -> Mapping[str, str]:
    if option is None or option.endpoint is None:
        return {}
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": option.endpoint}


def _add_layers(workflow: Construct, host: Host, option: OpenTelemetry) -> None:
    try:
        if option.layers is None:
            add_sdk(host.function)
        elif option.layers:
            host.function.add_layers(*option.layers)
    except SdkMissingError as missing:
        raise ConstructError(workflow, f"monitoring.opentelemetry: {missing}") from missing
    except (JSIIError, RuntimeError) as error:
        raise ConstructError(
            host.function,
            f"monitoring.opentelemetry: Lambda allows 5 layers, and the workflow needs one or two: {error}",
        ) from error
