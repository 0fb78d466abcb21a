"""Tasks that wait for a signal: ``"Resource": "unum:signal:NAME"``, which Step Functions lacks."""

from unum_compiler.parsing.jsonata_fields import is_expression
from unum_compiler.parsing.object_reader import Part
from unum_compiler.problems import shown
from unum_runtime.features.signals.mailbox import KEY_RULE, is_key, is_signal_name
from unum_runtime.model.naming import NAME_RULE
from unum_runtime.model.states import SIGNAL, Json, Language

PREFIX = f"unum:{SIGNAL}"
"""Begin of the ``Resource``, before the name of the signal."""

_KEY = "Key"


def is_signal(resource: Json) -> bool:
    """Return True if `resource` names a signal."""
    return isinstance(resource, str) and resource.startswith(PREFIX)


def read_signal(task: Part) -> str:
    """Return the IR's resource of `task`, which waits for a signal; report what such a Task cannot have."""
    name = task.fields["Resource"].removeprefix(PREFIX)
    if not is_signal_name(name):
        task.mistake("Resource", f'expected "{PREFIX}" and the name of a signal, {NAME_RULE}, got {shown(name)}')
    for field in ("HeartbeatSeconds", "HeartbeatSecondsPath", "Credentials"):
        if task.has(field):
            task.mistake(field, "a wait for a signal has no such field: nothing is called; remove it")
    field = "Arguments" if task.language is Language.JSONATA else "Parameters"
    if task.has(field):
        _check_key(task.fields[field], task, field)
    return f"{SIGNAL}{name}"


def _check_key(given: Json, task: Part, field: str) -> None:
    dynamic = f"{_KEY}.$" if task.language is Language.JSONPATH else ""
    if not isinstance(given, dict) or len(given) != 1 or not given.keys() <= {_KEY, dynamic}:
        known = f'"{_KEY}" or "{dynamic}"' if dynamic else f'"{_KEY}"'
        task.mistake(field, f"expected an object with {known} alone, the key of the signal, got {shown(given)}")
    elif (key := given.get(_KEY)) is not None and not is_expression(key) and not is_key(key):
        task.mistake(field, f"{_KEY}: expected {KEY_RULE}, got {shown(key)}")
