"""Objects that the CDK resolves at synthesis, such as `Lazy.any`, `Token.as_any` and `Fn.condition_if`.

Such an object becomes a placeholder such as ``${Json1}`` in the definition. Its value is a token of JSON text, which
replaces the placeholder with its quotes when a function loads the IR: `StateMachine` writes the same JSON.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any, NamedTuple

from unum_runtime.model.placeholders import JSON


class Given(NamedTuple):
    """A definition without such objects, and their tokens of JSON text by the name of their placeholder."""

    machine: Any
    values: Mapping[str, str]


def take_objects(machine: Any) -> Given:
    """Return `machine` with placeholders in place of the objects that the CDK resolves."""
    text, values = str(machine), dict[str, str]()
    names = (name for name in (f"{JSON}{number}" for number in count(1)) if f"${{{name}}}" not in text)
    placeholders: dict[int, str] = {}  # one for each object: environments are limited to 4 KB (AWS Lambda quotas)

    def taken(value: Any) -> Any:
        match value:
            case Mapping():
                return {name: taken(item) for name, item in value.items()}
            case list() | tuple():
                return [taken(item) for item in value]
            case _ if not hasattr(value, "resolve") or hasattr(value, "node"):  # constructs have both
                return value
        if id(value) not in placeholders:
            values[name := next(names)] = _json_text(value)
            placeholders[id(value)] = f"${{{name}}}"
        return placeholders[id(value)]

    return Given(taken(machine), values)


def _json_text(resolvable: Any) -> str:
    from aws_cdk import Stack  # noqa: PLC0415 - the compiler works without the CDK, and has no such object then

    # The token belongs to no stack: it is resolved where it is used.
    return Stack().to_json_string(resolvable)
