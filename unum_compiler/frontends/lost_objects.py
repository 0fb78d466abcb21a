"""Objects of a chain that the CDK resolves at synthesis, such as ``Fn.condition_if``, and loses on their way to Python.

The CDK's own process has them: it renders the definition to text, as for `StateMachine`, where each of them is a
CloudFormation function inside a text. Here it becomes a token of text again.
"""

import json
import re
from collections.abc import Iterator

from aws_cdk import CfnElement, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn

from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json

LOST = "<unresolved-token>"
"""What the CDK gives Python in place of such an object."""

_ARRAY = '"#{Token['
_MARK = re.compile("\ue000([0-9]+)\ue000")  # of private use, so that no definition has it


def restore_objects(machine: Json, start: sfn.State, graph: sfn.StateGraph) -> Json:
    """Return `machine`, the JSON of `graph`, with a token of text in place of each lost object.

    Raises:
        DefinitionError: an object refers to another stack, or stands beside a token of an array.
    """
    text = json.dumps(machine)
    if LOST not in text:
        return machine
    stack = Stack.of(start)
    # Rendering a token of an array would add a custom resource to the stack.
    parts = [] if _ARRAY in text else _rendered_parts(start, graph, stack)
    marked = "".join(part if isinstance(part, str) else f"\ue000{index}\ue000" for index, part in enumerate(parts))
    try:
        rendered = json.loads(marked)
    except ValueError:  # nothing was rendered, or an object that is no text
        rendered = None
    names = {str(stack.resolve(each.logical_id)) for each in stack.node.find_all() if isinstance(each, CfnElement)}
    return _Restoring(parts, names).value(machine, rendered, "$")


def _rendered_parts(start: sfn.State, graph: sfn.StateGraph, stack: Stack) -> list[Json]:
    body = sfn.DefinitionBody.from_chainable(start)
    principal = iam.ServicePrincipal("states.amazonaws.com")
    config = body.bind(start, principal, sfn.StateMachineProps(definition_body=body), graph)
    resolved = stack.resolve(config.definition_string)
    return list(resolved["Fn::Join"][1]) if isinstance(resolved, dict) else [resolved]


class _Restoring:
    """One pass over a definition.

    Attributes:
        parts: texts and CloudFormation functions of the rendered definition.
        names: logical names in its stack.
    """

    def __init__(self, parts: list[Json], names: set[str]) -> None:
        self.parts, self.names = parts, names

    def value(self, value: Json, rendered: Json, place: str) -> Json:
        """Return `value`, which was rendered as `rendered`, with tokens in place of lost objects."""
        if isinstance(value, dict):
            found = rendered if isinstance(rendered, dict) else {}
            return {key: self.value(item, found.get(key), member(place, key)) for key, item in value.items()}
        if isinstance(value, list):
            given = rendered if isinstance(rendered, list) and len(rendered) == len(value) else [None] * len(value)
            pairs = enumerate(zip(value, given, strict=True))
            return [self.value(item, each, element(place, index)) for index, (item, each) in pairs]
        return self._object(rendered, place) if value == LOST else value

    def _object(self, rendered: Json, place: str) -> str:
        used = [self.parts[int(mark)] for mark in _MARK.findall(rendered)] if isinstance(rendered, str) else []
        if not used or any(name not in self.names and not name.startswith("AWS::") for name in _referred(used)):
            reason = "and that refers to what is not in its stack" if used else "beside an array that it resolves later"
            message = "expected text, a number, an array or an object, got an object that the CDK resolves later, "
            raise DefinitionError((Problem(place, f"{message}{reason}; write it as text: Token.as_string(...)"),))
        return _MARK.sub(lambda mark: Token.as_string(self.parts[int(mark[1])]), str(rendered))


def _referred(value: Json) -> Iterator[str]:
    """Yield the logical names to which CloudFormation functions in `value` refer."""
    if isinstance(value, list):
        for each in value:
            yield from _referred(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "Ref":
                yield str(inner)
            elif key == "Fn::GetAtt":
                yield str(inner[0] if isinstance(inner, list) else inner).partition(".")[0]
            else:
                yield from _referred(inner)
