"""Checks for CDK tokens: text placeholders for values that CloudFormation knows only at deployment.

An IR has no tokens, so that it is the same in every deployment. Tasks name functions by key instead of by ARN. Other
values of the deployment reach functions through their environments.
"""

import re
import struct
from collections.abc import Iterator

from unum_compiler.problems import Report, shown
from unum_runtime.asl.places import element, member
from unum_runtime.model.states import Json

_TOKEN = re.compile(r"[$#]\{Token\[")
# Partition, region and account of an ARN may be tokens, because the compiler drops them.
_PART = r"(?:\$\{Token\[[^\]]*\]\}|[^:$]*)"
_ARN_PREFIX = re.compile(rf"arn:{_PART}:(?:lambda|states):{_PART}:{_PART}:")
# The CDK encodes a token of a number as a huge negative double: these bits, then the token's index
# (aws-cdk-lib, core/lib/private/encoding.ts).
_NUMBER_TOKEN = b"\xfb\xff"


def check_tokens(definition: Json, report: Report) -> None:
    """Report every token in `definition`."""
    for place, token in _tokens(definition, "$"):
        remedy = (
            "pass the function in `functions`, as `Function.from_function_arn(self, ID, TOKEN)` if this app does not "
            "make it; give other values to the functions as environment variables"
        )
        report.mistake(place, f"{shown(token)} is a CDK token, of none of the workflow's functions; {remedy}")


def _tokens(value: Json, place: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, child in value.items():
            if _TOKEN.search(key):
                yield place, key
            yield from _tokens(child, member(place, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _tokens(child, element(place, index))
    elif is_token(value):
        yield place, value


def is_token(value: Json) -> bool:
    """Return True if `value` is or contains a token that would become part of the IR."""
    if isinstance(value, str):
        return _TOKEN.search(_ARN_PREFIX.sub("", value)) is not None
    return isinstance(value, float) and struct.pack(">d", value).startswith(_NUMBER_TOKEN)
