"""Handlers for ``unum run``, from the user's Python module."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from unum_cli.commands.command_errors import UsageError
from unum_runtime.model.called_functions import called_key
from unum_runtime.model.ir import Form, Task
from unum_runtime.simulator.stand_ins.called_handlers import handler_names
from unum_runtime.simulator.local import Function

TABLE = "FUNCTIONS"
"""The module's own table of handlers by function key; without it, its attributes are the table."""


def handlers(module_name: str, tasks: Iterable[Task]) -> Mapping[str, Function]:
    """Return the handlers of `tasks`, by key of the function or name of the Task.

    Args:
        module_name: dotted name of a module, or path of a ``.py`` file.
        tasks: Tasks of the workflow; a Task of a service needs a handler under its own name.

    Raises:
        UsageError: the module fails to import or lacks functions; names all missing ones.
    """
    module = _imported(module_name)
    table = getattr(module, TABLE, None)
    found = vars(module) if table is None else table
    if not isinstance(found, Mapping):
        raise UsageError(f"--functions {module_name}: expected a dict {TABLE}, got {type(found).__name__}")
    names = [(task, [name for name in handler_names(task) if callable(found.get(name))]) for task in tasks]
    missing = sorted({_expected(task) for task, given in names if not given})
    if missing:
        place = "the module" if table is None else TABLE
        raise UsageError(
            f"--functions {module_name}: {place} has no function {', '.join(map(repr, missing))}, which the definition "
            f"names; add handlers (event, context) of these names, or map them in a dict {TABLE}"
        )
    return {name: found[name] for _, given in names for name in given}


def _expected(task: Task) -> str:
    """Return the name under which messages ask for a handler."""
    return task.function if task.form is not Form.SERVICE else called_key(task) or task.name


def _imported(name: str) -> ModuleType:
    try:
        return _from_file(Path(name)) if name.endswith(".py") else _by_name(name)
    # User code may raise anything at import, and a script may call `sys.exit`.
    except (Exception, SystemExit) as error:
        raise UsageError(f"--functions {name}: cannot be imported: {_summary(error)}") from error


def _by_name(name: str) -> ModuleType:
    """Import a module by name, also from the current directory, as ``python -m`` does."""
    # The console script has its own folder on the path, not the current one.
    if "" not in sys.path:
        sys.path.insert(0, "")
    return importlib.import_module(name)


def _from_file(file: Path) -> ModuleType:
    """Import the module in `file`, with its folder on the path, as running the file would."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.resolve().parent))
    # Registered before it runs, as `import` does: dataclasses and pickling look their module up there.
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def _summary(error: BaseException) -> str:
    """Return the error with its place in the user's code, if any."""
    text = "".join(traceback.format_exception_only(error)).strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if frame.filename != __file__]
    return f"{text} ({own[-1].filename}:{own[-1].lineno})" if own else text
