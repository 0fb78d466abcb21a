"""Bytecode for the functions' Python, compiled by processes of this interpreter or of one that the user names.

No other interpreter of the machine is used: what it answers would be deployed with the permissions of the functions.
Bytecode belongs to one minor version of CPython; all its releases since the first final one share the format.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import TypeAlias

from unum_constructs.layer import bytecode
from unum_runtime.json_text import parse_foreign, to_ascii

FOLDERS = "UNUM_PYTHONS"
"""Environment variable with the folders of other interpreters, in the format of PATH. Default: none.

Empty, it declines other interpreters: an app for the emulator, whose functions all run on one Python, needs none.
"""

LIMIT_S = 30
"""Time limit of an interpreter's answer; half a second is usual."""

_LONGEST_REASON = 300

Modules: TypeAlias = Mapping[str, bytes]
"""Sources or bytecode by the path in tracebacks."""


class NoBytecodeError(Exception):
    """Missing bytecode for a Python version, with a reason."""


def compile_modules(sources: Modules, python: str) -> Modules:
    """Compile `sources` for functions with the runtime `python`, such as ``python3.13``.

    Raises:
        NoBytecodeError: this Python has another version, and no interpreter of that name answers.
    """
    # This Python compiles in a process of its own, too: the option that leaves columns out holds for a whole process,
    # and the bytes of marshalled code depend on what else a process has done.
    return _interpreter(python, _find(python)).compile(sources)


def identity_of(python: str) -> str:
    """Return a text that changes with the interpreter that compiles for the runtime `python`.

    Raises:
        NoBytecodeError: there is none.
    """
    executable = Path(_find(python)).resolve()
    try:
        found = executable.stat()
    except OSError as error:
        raise NoBytecodeError(f"{executable} cannot be run: {error.strerror}") from error
    return f"{executable} {found.st_size} {found.st_mtime_ns}"


def _find(python: str) -> str:
    """Return the path of this interpreter, or else of the first one in the folders that the user names.

    Raises:
        NoBytecodeError: there is none.
    """
    if python == bytecode.this_python() and sys.executable:
        return sys.executable
    folders = os.environ.get(FOLDERS, "")
    executable = shutil.which(python, path=folders) if folders else None
    if executable is None:
        raise NoBytecodeError(f"no {python} is on {FOLDERS}")
    return executable


def are_declined() -> bool:
    """Return True if the user wants no other interpreters."""
    return os.environ.get(FOLDERS) == ""


class _Interpreter:
    """An interpreter; compiles each module once, and stays unused after a failure."""

    def __init__(self, python: str, executable: str) -> None:
        self._python, self._executable = python, executable
        self._made: dict[tuple[str, bytes], bytes] = {}
        self._failure = ""

    def compile(self, sources: Modules) -> Modules:
        """Return the bytecode of `sources`.

        Raises:
            NoBytecodeError: the interpreter failed, now or before.
        """
        new = {path: source for path, source in sources.items() if (path, source) not in self._made}
        if new and not self._failure:
            self._ask(new)
        if self._failure:
            raise NoBytecodeError(f"{self._executable} {self._failure}")
        return {path: self._made[path, source] for path, source in sources.items()}

    def _ask(self, sources: Modules) -> None:
        """Run the interpreter; store bytecode or the reason of its failure."""
        question = to_ascii({path: source.hex() for path, source in sources.items()})
        # -I and -S: environment variables and installed packages must not change the imports of the program.
        command = [self._executable, "-I", "-S", "-X", "no_debug_ranges", bytecode.__file__, self._python]
        try:
            answer = subprocess.run(  # noqa: S603 - an interpreter of the machine
                command,
                input=question,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=True,
                timeout=LIMIT_S,
            )
            made = parse_foreign(answer.stdout)
            self._made |= {(path, source): bytes.fromhex(made[path]) for path, source in sources.items()}
        except subprocess.TimeoutExpired:
            self._failure = f"has not answered for {LIMIT_S} s"
        except subprocess.CalledProcessError as error:
            self._failure = f"fails: {shorten(error.stderr, _LONGEST_REASON)}"
        except OSError as error:
            self._failure = f"cannot be run: {error.strerror}"
        except (LookupError, TypeError, ValueError):
            self._failure = "answers with something else than bytecode"


_interpreter = cache(_Interpreter)
