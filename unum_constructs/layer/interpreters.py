"""Bytecode for the Python of functions, made by this interpreter, or by one of that version that the machine has.

Bytecode is good for one minor version of CPython; its releases, from the first final one on, share a format.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from textwrap import shorten
from typing import TypeAlias

from unum_constructs.layer import bytecode

FOLDERS = "UNUM_PYTHONS"
"""The variable of the environment with the folders, written as in PATH, whose interpreters may be asked. Without it,
these are the ones of PATH; where it is empty, nobody is asked."""

LIMIT_S = 30
"""What an interpreter may take for an answer; half a second is usual."""

_LONGEST_REASON = 300

Modules: TypeAlias = Mapping[str, bytes]
"""Sources or bytecode by path, as tracebacks say it."""


class NoBytecodeError(Exception):
    """Nobody on this machine makes bytecode for a Python; the text says why."""


def compiled(sources: Modules, python: str) -> Modules:
    """The bytecode of `sources` for functions with the runtime `python`, such as ``python3.13``.

    Raises:
        NoBytecodeError: this Python is another one, and no interpreter of that name answers.
    """
    if python == bytecode.this_python():
        return {path: _compiled_here(source, path) for path, source in sources.items()}
    return _interpreter(python, _found(python)).compiled(sources)


_compiled_here = cache(bytecode.compiled)


def _found(python: str) -> str:
    """The interpreter that a shell would run.

    Raises:
        NoBytecodeError: there is none.
    """
    folders = os.environ.get(FOLDERS)
    executable = shutil.which(python, path=folders)
    if executable is None:
        raise NoBytecodeError(f"no {python} is on {'PATH' if folders is None else FOLDERS}")
    return executable


class _Interpreter:
    """Another Python, which compiles each module once; if it fails once, nobody waits for it again."""

    def __init__(self, python: str, executable: str) -> None:
        self._python, self._executable = python, executable
        self._made: dict[tuple[str, bytes], bytes] = {}
        self._failure = ""

    def compiled(self, sources: Modules) -> Modules:
        """The bytecode of `sources`.

        Raises:
            NoBytecodeError: it has failed, now or before.
        """
        new = {path: source for path, source in sources.items() if (path, source) not in self._made}
        if new and not self._failure:
            self._ask(new)
        if self._failure:
            raise NoBytecodeError(f"{self._executable} {self._failure}")
        return {path: self._made[path, source] for path, source in sources.items()}

    def _ask(self, sources: Modules) -> None:
        """Learn of the bytecode of `sources`, or of why it is not to be had."""
        question = json.dumps({path: source.hex() for path, source in sources.items()})
        # Isolated: neither the environment nor packages change what the program imports.
        command = [self._executable, "-I", "-S", bytecode.__file__, self._python]
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
            made = json.loads(answer.stdout)
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
