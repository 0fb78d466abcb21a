"""Put a mutant into this process: into functions that exist, or into modules that are imported from now on."""

import gc
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType

from tests.mutation.mutants import PYTHON, Mutant

OWN = (
    "unum_runtime",
    "unum_azure",
    "unum_client",
    "unum_google",
    "unum_simulator",
    "unum_compiler",
    "unum_constructs",
    "unum_cli",
    "tests",
    "conftest",
)
"""Packages that `forget_imports` forgets. One that stayed would mix its classes of the runtime with new ones."""


Places = Mapping[tuple[str, str, int], Sequence[FunctionType]]
"""Functions by file, qualified name and first line."""


def functions() -> Places:
    """Return all functions of this process that come from the mutated folders, under whichever decorators."""
    found: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(str(PYTHON)):
            found[_place(each.__code__)].append(each)
    return found


def put_into_functions(mutant: Mutant, code: CodeType, places: Places) -> bool:
    """Give the function around the change its mutated code, whoever holds the function.

    Returns:
        False if the change is in no function that exists, or changes what its closure holds: import the module anew.
    """
    place = (str(mutant.path), mutant.scope, mutant.line)
    mutated = next((each for each in _walk(code) if _place(each) == place), None)
    if mutated is None or place not in places:
        return False
    try:
        for function in places[place]:
            function.__code__ = mutated
    except ValueError:  # another number of variables in its closure
        return False
    return True


def forget_imports(mutant: Mutant, code: CodeType) -> None:
    """Make every later import of the module take `code`, and of all own modules run anew."""
    read_code = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return code if loader.path == str(mutant.path) else read_code(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment]
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__.partition(".")[0] not in OWN]


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _walk(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _walk(constant)
