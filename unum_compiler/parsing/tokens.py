"""CDK tokens: placeholders, as text, for what CloudFormation knows only when it deploys.

A workflow has none, so that its IR is the same wherever it is deployed. Functions are named by keys instead; what a
token can say beside that has to come from the functions' environments.
"""

import re
import struct
from collections.abc import Iterator

from unum_compiler.problems import Report, shown
from unum_runtime.asl.places import element, member
from unum_runtime.model.ir import Json

_TOKEN = re.compile(r"[$#]\{Token\[")
# Partition, region and account of an ARN may be tokens: they do not become part of the IR.
_PART = r"(?:\$\{Token\[[^\]]*\]\}|[^:$]*)"
_ARN_PREFIX = re.compile(rf"arn:{_PART}:(?:lambda|states):{_PART}:{_PART}:")
# The CDK writes tokens of numbers as huge negative numbers that begin with these bits, and end with the token's own
# number (aws-cdk-lib, core/lib/private/encoding.ts).
_NUMBER_TOKEN = b"\xfb\xff"


def check_tokens(definition: Json, report: Report) -> None:
    """Report every token in `definition`."""
    for place, token in _tokens(definition, "$"):
        remedy = "pass the function in `functions`; give other values to the functions as environment variables"
        report.mistake(place, f"{shown(token)} is a CDK token of none of the workflow's functions; {remedy}")


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
    """Whether `value` is or contains a token that would become part of the IR."""
    if isinstance(value, str):
        return _TOKEN.search(_ARN_PREFIX.sub("", value)) is not None
    return isinstance(value, float) and struct.pack(">d", value).startswith(_NUMBER_TOKEN)
