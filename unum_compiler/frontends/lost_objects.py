"""Objects of a chain that the CDK resolves at synthesis, such as ``Fn.condition_if``, and loses on their way to Python.

The CDK's own process has them. It hands them over when it renders the definition as for `StateMachine`, to a resolver
that notes every object with its place.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jsii
from aws_cdk import (
    CfnElement,
    DefaultTokenResolver,
    IPostProcessor,
    IResolvable,
    IResolveContext,
    ITokenResolver,
    Reference,
    Stack,
    StringConcat,
    Token,
    Tokenization,
    TokenizedStringFragments,
)
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn

from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json

LOST = ("<unresolved-token>", "<unresolved-lazy>")
"""What the CDK gives Python in place of such objects."""


def restore_objects(machine: Json, start: sfn.State, graph: sfn.StateGraph) -> Any:
    """Restore lost objects of `graph` in `machine`, its JSON: texts as tokens, other objects unchanged.

    Raises:
        DefinitionError: an object names a resource of another stack without a reference to it.
    """
    text = str(machine)
    if not any(lost in text for lost in LOST):
        return machine
    noting = _Noting()
    body = sfn.DefinitionBody.from_chainable(start)
    principal = iam.ServicePrincipal("states.amazonaws.com")
    config = body.bind(start, principal, sfn.StateMachineProps(definition_body=body), graph)
    stack = Stack.of(start)
    Tokenization.resolve(config.definition_string, scope=stack, resolver=noting, preparing=False)
    return _Restoring(stack, noting.found).value(machine, (), "$")


@jsii.implements(ITokenResolver)
class _Resolving:
    """The CDK's way to resolve, from which others deviate."""

    def __init__(self) -> None:
        self._default = DefaultTokenResolver(StringConcat())

    def resolve_token(self, t: IResolvable, context: IResolveContext, post_processor: IPostProcessor) -> Any:
        return self._default.resolve_token(t, context, post_processor)

    def resolve_string(self, s: TokenizedStringFragments, context: IResolveContext) -> Any:
        return self._default.resolve_string(s, context)

    def resolve_list(self, l: Sequence[str], context: IResolveContext) -> Any:  # noqa: E741 - the name in the interface
        return self._default.resolve_list([*l], context)


class _Noting(_Resolving):
    """Notes objects inside a definition.

    Attributes:
        found: objects by their place: names and indexes as texts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[tuple[str, ...], IResolvable] = {}

    def resolve_token(self, t: IResolvable, context: IResolveContext, post_processor: IPostProcessor) -> Any:
        if place := tuple(context.document_path):
            self.found[place] = t
            return ""
        return super().resolve_token(t, context, post_processor)  # the definition itself

    def resolve_string(self, s: TokenizedStringFragments, context: IResolveContext) -> Any:
        return "" if context.document_path else super().resolve_string(s, context)

    def resolve_list(self, l: Sequence[str], context: IResolveContext) -> Any:  # noqa: ARG002, E741 - as above
        return ""  # the CDK would add a custom resource for an array


class _Unreferenced(_Resolving):
    """Resolves all but references, which lead to any stack."""

    def resolve_token(self, t: IResolvable, context: IResolveContext, post_processor: IPostProcessor) -> Any:
        return "" if Reference.is_reference(t) else super().resolve_token(t, context, post_processor)


class _Restoring:
    """One pass over a definition.

    Attributes:
        stack: stack of the definition.
        found: lost objects by place.
    """

    def __init__(self, stack: Stack, found: dict[tuple[str, ...], IResolvable]) -> None:
        self.stack, self.found = stack, found
        elements = (each for each in stack.node.find_all() if isinstance(each, CfnElement))
        self.names = {str(stack.resolve(each.logical_id)) for each in elements}

    def value(self, value: Json, path: tuple[str, ...], place: str) -> Any:
        """Return `value` at `path` with what was lost inside; `place` is for people."""
        if isinstance(value, dict):
            return {key: self.value(item, (*path, key), member(place, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, (*path, str(at)), element(place, at)) for at, item in enumerate(value)]
        return self._object(self.found[path], place) if value in LOST and path in self.found else value

    def _object(self, lost: IResolvable, place: str) -> Any:
        own = Tokenization.resolve(lost, scope=self.stack, resolver=_Unreferenced(), preparing=False)
        if others := sorted({*_named(own)} - self.names):
            message = f"expected a reference, got the name {others[0]!r} of what is not in this stack"
            raise DefinitionError((Problem(place, f"{message}; pass the resource's own attribute"),))
        return Token.as_string(lost) if _is_text(self.stack.resolve(lost)) else lost


def _is_text(resolved: Json) -> bool:
    """Return True for a text, or a function of CloudFormation, whose value is one."""
    return isinstance(resolved, str) or (isinstance(resolved, dict) and any(map(_is_function, resolved)))


def _is_function(name: str) -> bool:
    return name == "Ref" or name.startswith("Fn::")


def _named(value: Json) -> Iterator[str]:
    """Yield the logical names to which CloudFormation functions in `value` refer."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "Ref" and not str(inner).startswith("AWS::"):
                yield str(inner)
            elif key == "Fn::GetAtt":
                yield str(inner[0] if isinstance(inner, list) else inner).partition(".")[0]
            else:
                yield from _named(inner)
