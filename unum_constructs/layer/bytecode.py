"""Compile modules to bytecode without docstrings and assertions.

Interpreters of other versions run this file as a program, so it imports the standard library alone.
"""

import json
import marshal
import sys
from importlib.util import MAGIC_NUMBER, source_hash

_UNCHECKED = 1
"""The flag of bytecode that nobody compares with its source again. Source: PEP 552, "Deterministic pycs"."""


def this_python() -> str | None:
    """The Lambda runtime whose bytecode this Python makes, such as ``python3.13``.

    None for another than CPython, and before a version's first final release, for until then its bytecode changes.
    """
    is_one = sys.implementation.name == "cpython" and sys.version_info.releaselevel == "final"
    return f"python{sys.version_info.major}.{sys.version_info.minor}" if is_one else None


def name_of_this_python() -> str:
    """What it is in full, such as ``cpython 3.14.0rc2``."""
    return f"{sys.implementation.name} {sys.version.split()[0]}"


def compiled(source: bytes, path: str) -> bytes:
    """What a ``.pyc`` file of `source` has in it, of which tracebacks say that it is at `path`."""
    code = compile(source, path, "exec", dont_inherit=True, optimize=2)
    head = MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little") + source_hash(source)
    return head + marshal.dumps(code)


def main() -> None:
    """Answer a Python that cannot make the bytecode of this one.

    The argument is the runtime that it is wanted for, the input a JSON object with sources by path, and the output one
    with bytecode by path, all bytes as hexadecimal digits.
    """
    wanted = sys.argv[1]
    if this_python() != wanted:
        sys.exit(f"it is {name_of_this_python()}, no final release of CPython's {wanted}")
    sources = json.load(sys.stdin)
    json.dump({path: compiled(bytes.fromhex(source), path).hex() for path, source in sources.items()}, sys.stdout)


if __name__ == "__main__":
    main()
