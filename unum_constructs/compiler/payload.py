"""What ``arn:aws:states:::lambda:invoke`` passes to its function, written as the data flow of a direct Task."""

from collections.abc import Mapping

from unum_runtime.asl.path_syntax import PathSyntaxError
from unum_runtime.asl.paths import parse
from unum_runtime.model.ir import Json

ROOT = "$"


def with_payload(data: Mapping[str, Json]) -> dict[str, Json]:
    """`data` of a lambda:invoke Task such that its effective input is the payload.

    Without ``Payload`` the function gets an empty object, as from Lambda's Invoke operation without a body.
    """
    lowered = {field: value for field, value in data.items() if field != "Parameters"}
    parameters = data["Parameters"]
    if "Payload.$" in parameters:
        return lowered | _input_path(lowered.get("InputPath", ROOT), parameters["Payload.$"])
    return lowered | {"Parameters": parameters.get("Payload", {})}


def is_composable(input_path: Json, payload_path: Json) -> bool:
    """Whether one path can stand for `payload_path` after `input_path`.

    What is no path at all is not judged here.
    """
    try:
        outer, inner = parse(ROOT if input_path is None else input_path), parse(payload_path)
    except (TypeError, AttributeError, PathSyntaxError):
        return True
    if inner.is_context or not inner.steps:
        return True
    return input_path is not None and outer.keys is not None


def _input_path(input_path: str | None, payload_path: str) -> dict[str, str | None]:
    """The InputPath that selects what ``Payload.$`` selects in what `input_path` selects."""
    inner = parse(payload_path)
    if inner.is_context or input_path == ROOT:
        return {"InputPath": payload_path}
    if not inner.steps or input_path is None:
        return {"InputPath": input_path}
    return {"InputPath": input_path + payload_path.removeprefix(ROOT)}
