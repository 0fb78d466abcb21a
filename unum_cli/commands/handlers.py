"""Handlers for ``unum run``, ``cost`` and ``test-state``: from a Python module, a file of mocks, or samples."""

import argparse
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from unum_cli.commands.command_arguments import json_option
from unum_cli.commands.command_errors import UsageError
from unum_runtime.model.called_functions import called_key
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Form, Task
from unum_simulator.local import Function
from unum_simulator.stand_ins.called_handlers import handler_names
from unum_simulator.stand_ins.mock_file import MockedCase, parse_mocks
from unum_simulator.stand_ins.task_answers import NothingAnswers, answers

TABLE = "FUNCTIONS"
"""The module's own table of handlers by function key; without it, its attributes are the table."""


def is_answered(options: argparse.Namespace) -> bool:
    """Return True if the command line names anything that answers for Tasks."""
    return bool(options.functions or options.mock_file or options.auto_mock)


def stand_ins(options: argparse.Namespace, workflow: Workflow, tasks: Iterable[Task]) -> Mapping[str, Function]:
    """Return what answers for `tasks`, good for one execution: mocks before handlers before samples.

    Args:
        options: ``--functions``, ``--mock`` with ``--test-case``, and ``--auto-mock``.
        workflow: the compiled workflow.
        tasks: Tasks of the workflow that may run.

    Raises:
        UsageError: the module or the file cannot be used, or nothing answers for a Task; names all missing ones.
    """
    mocked, tasks = _mocked(options, workflow), list(tasks)
    others = [task for task in tasks if mocked is None or task.name not in mocked.answers]
    found = handlers(options.functions, others, complete=not options.auto_mock) if options.functions else {}
    try:
        return answers(workflow, tasks, found, mocked, samples=options.auto_mock)
    except NothingAnswers as missing:
        names = ", ".join(sorted({repr(_expected(task)) for task in missing.tasks}))
        raise UsageError(f"nothing answers for {names}; add --functions, --mock or --auto-mock") from missing
    except ValueError as error:
        raise UsageError(f"--mock {options.mock_file}: {error}") from error


def _mocked(options: argparse.Namespace, workflow: Workflow) -> MockedCase | None:
    """Return the test case of ``--mock``."""
    if options.mock_file is None:
        if options.test_case is not None:
            raise UsageError("--test-case: expected --mock with the file that has the test case")
        return None
    document = json_option("--mock", f"@{options.mock_file}")
    try:
        return parse_mocks(document, workflow.name, options.test_case)
    except ValueError as error:
        raise UsageError(f"--mock {options.mock_file}: {error}") from error


def handlers(module_name: str, tasks: Iterable[Task], *, complete: bool = True) -> Mapping[str, Function]:
    """Return the handlers of `tasks`, by key of the function or name of the Task.

    Args:
        module_name: dotted name of a module, or path of a ``.py`` file.
        tasks: Tasks of the workflow; a Task of a service needs a handler under its own name.
        complete: True if every Task needs a handler.

    Raises:
        UsageError: the module fails to import or lacks functions; names all missing ones.
    """
    module = _imported(module_name)
    table = getattr(module, TABLE, None)
    found = vars(module) if table is None else table
    if not isinstance(found, Mapping):
        raise UsageError(f"--functions {module_name}: expected a dict {TABLE}, got {type(found).__name__}")
    names = [(task, [name for name in handler_names(task) if callable(found.get(name))]) for task in tasks]
    missing = sorted({_expected(task) for task, functions in names if not functions})
    if missing and complete:
        place = "the module" if table is None else TABLE
        raise UsageError(
            f"--functions {module_name}: {place} has no function {', '.join(map(repr, missing))}, which the definition "
            f"names; add handlers (event, context) of these names, or map them in a dict {TABLE}, or let --auto-mock "
            "answer"
        )
    return {name: found[name] for _, functions in names for name in functions}


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
