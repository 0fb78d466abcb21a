"""JSONata functions for text, Base64 and URLs, following JSONata 2.0.6. Undefined arguments arrive as None."""

import math
import re
from base64 import b64decode, b64encode
from binascii import Error
from urllib.parse import quote, unquote

from unum_runtime.asl.jsonata.failures import Failure

_RESERVED = re.compile("(%(?:3B|2F|3F|3A|40|26|3D|2B|24|2C|23))", re.IGNORECASE)
"""Escapes of ``;/?:@&=+$,#``, which stay escaped in a whole URL. Source: ECMAScript, "decodeURI"."""

_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_COMPONENT = "-_.!~*'()"
_WHOLE = _COMPONENT + ";/?:@&=+$,#"
"""Characters that stay as they are. Source: ECMAScript, "encodeURI"."""

_NO_URL = "D3140"
_FAILED = "D3137"


def lowercase(text: str | None) -> str | None:
    """Implement ``$lowercase``."""
    return None if text is None else text.lower()


def substring(text: str | None, start: float | None, length: float | None) -> str | None:
    """Implement ``$substring``; positions lose their fraction after their sum, as in the reference implementation."""
    if text is None or start is None:
        return text if text is None or length is None else ""
    size = len(text)
    begin = 0.0 if size + start < 0 else start
    if length is None:
        return text[_position(begin, size) :]
    if length <= 0:
        return ""
    end = begin + length if begin >= 0 else size + begin + length
    return text[_position(begin, size) : _position(end, size)]


def _position(value: float, size: int) -> int:
    return 0 if math.isnan(value) else math.trunc(max(-size, min(value, size)))


def base64_encode(text: str | None) -> str | None:
    """Implement ``$base64encode``, for any text, in UTF-8."""
    try:
        return None if text is None else b64encode(text.encode()).decode()
    except UnicodeEncodeError:
        raise Failure(_FAILED, "The argument of $base64encode contains half of a surrogate pair") from None


def base64_decode(text: str | None) -> str | None:
    """Implement ``$base64decode``: optional padding, UTF-8 text."""
    if text is None:
        return None
    # AWS was observed to fail with "!!!", which the library skips; Java's decoder takes a text without padding.
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except (Error, UnicodeDecodeError, ValueError):
        raise Failure(_FAILED, "The argument of $base64decode is no text in Base64") from None


def encode_url(text: str | None) -> str | None:
    """Implement ``$encodeUrl``."""
    return None if text is None else _encode(text, _WHOLE, "encodeUrl")


def encode_url_component(text: str | None) -> str | None:
    """Implement ``$encodeUrlComponent``."""
    return None if text is None else _encode(text, _COMPONENT, "encodeUrlComponent")


def decode_url(text: str | None) -> str | None:
    """Implement ``$decodeUrl``."""
    if text is None:
        return None
    parts = _RESERVED.split(text)
    return "".join(part if index % 2 else _decode(part, "decodeUrl") for index, part in enumerate(parts))


def decode_url_component(text: str | None) -> str | None:
    """Implement ``$decodeUrlComponent``."""
    return None if text is None else _decode(text, "decodeUrlComponent")


def _encode(text: str, kept: str, name: str) -> str:
    try:
        return quote(text, safe=kept)
    except UnicodeEncodeError:
        raise _malformed(text, name) from None


def _decode(text: str, name: str) -> str:
    if _NO_ESCAPE.search(text):
        raise _malformed(text, name)
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise _malformed(text, name) from None


def _malformed(text: str, name: str) -> Failure:
    shown = text[:100].encode("utf-8", "backslashreplace").decode()
    return Failure(_NO_URL, f'Malformed URL passed to ${name}(): "{shown}"')
