"""Handlers for ``unum run``, from a Python module of the user's."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Collection, Mapping
from pathlib import Path
from types import ModuleType

from unum_cli.commands.command_errors import UsageError
from unum_runtime.simulator.local import Function

TABLE = "FUNCTIONS"
"""The module's own table of handlers by function key; without it, its attributes are the table."""


def handlers(module_name: str, keys: Collection[str]) -> Mapping[str, Function]:
    """The handler of each of `keys`.

    Args:
        module_name: dotted name of a module, or path of a ``.py`` file.
        keys: of the functions that the workflow needs.

    Raises:
        UsageError: the module cannot be imported, or lacks a function; names all that are missing.
    """
    module = _imported(module_name)
    table = getattr(module, TABLE, None)
    found = vars(module) if table is None else table
    if not isinstance(found, Mapping):
        raise UsageError(f"--functions {module_name}: expected a dict {TABLE}, got {type(found).__name__}")
    missing = sorted(key for key in keys if not callable(found.get(key)))
    if missing:
        place = "the module" if table is None else TABLE
        raise UsageError(
            f"--functions {module_name}: {place} has no function {', '.join(map(repr, missing))}, which the definition "
            f"names; add handlers (event, context) of these names, or map them in a dict {TABLE}"
        )
    return {key: found[key] for key in keys}


def _imported(name: str) -> ModuleType:
    try:
        return _from_file(Path(name)) if name.endswith(".py") else _by_name(name)
    except (Exception, SystemExit) as error:
        raise UsageError(f"--functions {name}: cannot be imported: {_summary(error)}") from error


def _by_name(name: str) -> ModuleType:
    """A module as ``python -m`` finds it: from the current directory, too."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    return importlib.import_module(name)


def _from_file(file: Path) -> ModuleType:
    """The module in `file`, which may import its neighbours as it could if it were run."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.resolve().parent))
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def _summary(error: BaseException) -> str:
    """The error and where in the user's code it happened, if it was there."""
    text = "".join(traceback.format_exception_only(error)).strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if frame.filename != __file__]
    return f"{text} ({own[-1].filename}:{own[-1].lineno})" if own else text
