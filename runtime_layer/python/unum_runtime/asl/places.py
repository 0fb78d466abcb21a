"""JSON paths of positions inside JSON values, for error messages: ``$.items[3]['when sent']``."""

import re

_PLAIN = re.compile(r"[^\W\d][\w-]*")


def member(where: str, key: object) -> str:
    """Return the path of field `key` in the object at path `where`."""
    plain = isinstance(key, str) and _PLAIN.fullmatch(key)
    return f"{where}.{key}" if plain else f"{where}[{key!r}]"


def element(where: str, index: int) -> str:
    """Return the path of item `index` in the array at path `where`."""
    return f"{where}[{index}]"
