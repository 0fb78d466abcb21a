"""``unum test-state``: run one state alone, as the TestState API of Step Functions does."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from unum_cli.commands.command_arguments import document, json_option, problem_lines
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.handlers import is_answered, stand_ins
from unum_cli.commands.printing import print_json
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.json_text import parse_foreign, to_ascii
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json, Task
from unum_simulator.local import Function
from unum_simulator.single import Given, Level, Mock, Validation, test_state


def run(options: argparse.Namespace) -> None:
    """Run the state and print its result.

    Raises:
        UsageError: invalid file or option, or one that does not fit the state.
        CommandFailed: problems in the definition, or a failed state; its result is still printed.
    """
    try:
        workflow, state = workflow_around(document(options.file), options.state_name)
    except DefinitionError as error:
        raise CommandFailed("\n".join(problem_lines(options.file, error))) from error
    value = json_option("--input", options.input) if options.input else {}
    said = {name: json_option(option, getattr(options, name)) for name, option in _OPTIONS if getattr(options, name)}
    try:
        around = given(functions=_functions(options, workflow, state), **said)
        ended = test_state(workflow, state, value, given=around, level=Level(options.inspection_level))
    except (ValueError, ImportError) as error:
        raise UsageError(str(error)) from error
    print_json(ended)
    if ended["status"] == "FAILED":
        raise CommandFailed(f"state {state}: {ended.get('error', 'failed')}")


def given(
    *,
    mock: Json = None,
    variables: Json = None,
    context: Json = None,
    configuration: Json = None,
    functions: Mapping[str, Function] = MappingProxyType({}),
) -> Given:
    """Parse the request of a TestState call, which has the field names of its API.

    Raises:
        ValueError: a field or value that the API does not have.
    """
    return Given(
        variables=_object("variables", {} if variables is None else variables),
        context=None if context is None else _object("context", context),
        mock=None if mock is None else _mock(_object("mock", mock)),
        functions=functions,
        **_renamed(
            "stateConfiguration",
            _object("stateConfiguration", {} if configuration is None else configuration),
            _CONFIGURATION,
        ),
    )


def _mock(mock: dict[str, Json]) -> Mock:
    if ("result" in mock) == ("errorOutput" in mock):
        raise ValueError("mock: expected either result or errorOutput")
    fields = _renamed("mock", mock, _MOCK)
    failure = _renamed("mock.errorOutput", fields.pop("error_output", {}), _ERROR)
    return Mock(**fields, **failure)


def _object(name: str, value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expected an object, got {to_ascii(value)}")  # noqa: TRY004 - of what is given
    return value


def _renamed(place: str, value: dict[str, Json], fields: "_Fields") -> dict[str, Json]:
    """Return the checked fields of `value` under Python names."""
    unknown = sorted(value.keys() - fields.keys())
    if unknown:
        raise ValueError(f"{place}: there is no field {', '.join(unknown)}; allowed are {', '.join(fields)}")
    found = {}
    for name, item in value.items():
        try:
            found[_snake(name)] = fields[name](item)
        except ValueError as error:
            raise ValueError(f"{place}.{name}: {error}") from error
    return found


def _functions(options: argparse.Namespace, workflow: Workflow, state: str) -> Mapping[str, Function]:
    task = workflow.states[state]
    if not is_answered(options) or not isinstance(task, Task):
        return {}
    return stand_ins(options, workflow, [task])


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {to_ascii(value)}")  # noqa: TRY004 - of the option, not of the code
    return value


def _count(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"expected an integer from 0 up, got {to_ascii(value)}")
    return value


def _result(value: Json) -> Json:
    """Parse a string as JSON text, as the API does; return any other value unchanged."""
    return parse_foreign(value) if isinstance(value, str) else value


def _error(value: Json) -> Json:
    if not isinstance(value, dict) or "error" not in value:
        raise ValueError(f'expected an object with "error" and perhaps "cause", got {to_ascii(value)}')
    return value


_Fields: TypeAlias = Mapping[str, Callable[[Json], Json]]

_OPTIONS = (
    ("mock", "--mock"),
    ("variables", "--variables"),
    ("context", "--context"),
    ("configuration", "--state-configuration"),
)
_MOCK: _Fields = {"result": _result, "errorOutput": _error, "fieldValidationMode": Validation}
_ERROR: _Fields = {"error": _text, "cause": _text}
_CONFIGURATION: _Fields = {
    "retrierRetryCount": _count,
    "errorCausedByState": _text,
    "mapIterationFailureCount": _count,
    "mapItemReaderData": _text,
}


NAME = "StateName"
"""What Step Functions calls a state that has no name."""


def workflow_around(definition: Json, name: str | None, *, machine: str = "tested") -> tuple[Workflow, str]:
    """Return a workflow that contains the state under test, and the name of the state.

    Args:
        definition: a state, or a whole state machine that contains state `name`.
        name: name of the state in the machine, at any depth; None for a single state.
        machine: name of the workflow.

    Raises:
        DefinitionError: with every problem of the definition; JSON paths include the machine around the state.
    """
    whole = _around(definition) if name is None else definition
    workflow = Definition.from_asl(whole).compile(machine, None)
    found = NAME if name is None else name
    if found not in workflow.states:
        known = ", ".join(sorted(workflow.states))
        raise DefinitionError((Problem("$.States", f"there is no state {found!r}; there are: {known}"),))
    return workflow, found


def _around(state: Json) -> Json:
    """Return a machine that starts with `state` and ends at each of its targets."""
    if not isinstance(state, dict):
        raise DefinitionError((Problem("$", "expected an object with the definition of a state, or of a machine"),))
    if "StartAt" in state:
        raise DefinitionError((Problem("$", "this is a state machine; say which of its states is to be tested"),))
    ends = {target: {"Type": "Succeed"} for target in _targets(state) if target != NAME}
    return {"StartAt": NAME, "States": {NAME: state, **ends}}


def _targets(state: dict[str, Json]) -> Iterator[str]:
    rules = [rule for field in ("Choices", "Catch") for rule in _objects(state.get(field))]
    named = [state.get("Next"), state.get("Default"), *(rule.get("Next") for rule in rules)]
    yield from (name for name in named if isinstance(name, str))


def _objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
