"""Names of places inside JSON values, as errors show them: ``$.items[3]['when sent']``."""

import re

_PLAIN = re.compile(r"[^\W\d][\w-]*")


def member(where: str, key: object) -> str:
    """The place of field `key` of the object at `where`."""
    plain = isinstance(key, str) and _PLAIN.fullmatch(key)
    return f"{where}.{key}" if plain else f"{where}[{key!r}]"


def element(where: str, index: int) -> str:
    """The place of the item at `index` of the array at `where`."""
    return f"{where}[{index}]"
