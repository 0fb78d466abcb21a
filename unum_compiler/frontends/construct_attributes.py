"""Cached attributes of the CDK's constructs, without loading the CDK.

Each attribute is a call from Python to the CDK's process, of about 0.4 ms on both sides; these values never change.
Source: AWS CDK Developer Guide, "Working with the AWS CDK in Python", jsii.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

_answers: dict[str, WeakKeyDictionary[Any, Any]] = {}
"""Cached answers by name of the property."""


def cached(ask: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """Return `ask`, called once for each construct."""
    # Weak keys: tests synthesize hundreds of apps in one process.
    answers: WeakKeyDictionary[Asked, Answer] = WeakKeyDictionary()
    _answers[ask.__name__] = answers

    @wraps(ask)
    def asked(construct: Asked) -> Answer:
        if construct not in answers:
            answers[construct] = ask(construct)
        return answers[construct]

    return asked


def remember(ask: Callable[[Asked], Answer], construct: Asked, answer: Answer) -> None:
    """Save the call that would ask `construct` for a property that is known."""
    _answers[ask.__name__][construct] = answer


@cached
def node_of(construct: Any) -> Any:
    """Return the construct's node in the tree."""
    return construct.node


@cached
def path_of(construct: Any) -> str:
    """Return the construct's path."""
    return str(node_of(construct).path)


@cached
def arn_of(function: Any) -> str:
    """Return a token of the function's ARN; for an alias, with the alias name."""
    return str(function.function_arn)


@cached
def name_of(function: Any) -> str:
    """Return a token of the function's name."""
    return str(function.function_name)
