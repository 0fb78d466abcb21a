"""Bytecode of modules, without docstrings and assertions.

Interpreters of other versions run this file as a program, so it imports the standard library alone.
"""

import json
import marshal
import sys
from importlib.util import MAGIC_NUMBER, source_hash

_UNCHECKED = 1
"""Flag of bytecode that Python does not compare with its source. Source: PEP 552, "Deterministic pycs"."""


def this_python() -> str | None:
    """Return the Lambda runtime for this Python's bytecode, such as ``python3.13``.

    None for other implementations than CPython, and for pre-releases, whose bytecode format still changes.
    """
    is_one = sys.implementation.name == "cpython" and sys.version_info.releaselevel == "final"
    return f"python{sys.version_info.major}.{sys.version_info.minor}" if is_one else None


def name_of_this_python() -> str:
    """Return the full name of this Python, such as ``cpython 3.14.0rc2``."""
    return f"{sys.implementation.name} {sys.version.split()[0]}"


def compile_source(source: bytes, path: str) -> bytes:
    """Return the content of the ``.pyc`` file of `source`; tracebacks show `path`."""
    # `dont_inherit`: this module's own future imports must not change the result.
    code = compile(source, path, "exec", dont_inherit=True, optimize=2)
    head = MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little") + source_hash(source)
    return head + marshal.dumps(code)


def main() -> None:
    """Compile modules for another Python process, as a program.

    The argument is the wanted runtime; standard input is a JSON object of sources by path, and standard output one of
    bytecode by path, both in hexadecimal digits.
    """
    wanted = sys.argv[1]
    if this_python() != wanted:
        sys.exit(f"it is {name_of_this_python()}, no final release of CPython's {wanted}")
    sources = json.load(sys.stdin)
    json.dump({path: compile_source(bytes.fromhex(source), path).hex() for path, source in sources.items()}, sys.stdout)


if __name__ == "__main__":
    main()
