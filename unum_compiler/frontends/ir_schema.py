"""JSON Schema of the IR, generated from the classes of `unum_runtime.model`, so that both always agree."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from unum_runtime.model import ir, states
from unum_runtime.model.states import Json

KINDS: tuple[type[states.State], ...] = (
    states.Task,
    states.Pass,
    states.Choice,
    states.Wait,
    states.Succeed,
    states.Fail,
    states.Parallel,
    states.Map,
)
"""The kinds of state; ``type`` has the name of the class."""

TOP_LEVEL = frozenset({"version", *(each.name for each in fields(ir.Workflow))} - {"home", "variant"})
"""The fields of a workflow; its region and account are not part of the text."""

_PLAIN: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def ir_schema() -> dict[str, Json]:
    """Return the schema of the compiled form, in JSON Schema dialect 2020-12."""
    version: Json = {"const": ir.IR_VERSION, "description": "of the representation"}
    digest: Json = {"type": "string", "description": "of the text of the other fields"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Intermediate representation of a workflow, version {ir.IR_VERSION}",
        **_object(ir.Workflow, version=version, digest=digest),
        "$defs": {kind.__name__: _definition(kind) for kind in (*KINDS, states.Retrier, states.Catcher)},
    }


def _definition(kind: type) -> dict[str, Json]:
    return _object(kind, type={"const": kind.__name__}) if kind in KINDS else _object(kind)


def _object(kind: type, **more: Json) -> dict[str, Json]:
    hints = get_type_hints(kind)
    about = dict(_attributes(kind))
    own = [each for each in fields(kind) if _is_written(kind, each.name)]
    properties = {each.name: {**_schema_of(hints[each.name]), **_about(each, about)} for each in own}
    required = [*more, *(each.name for each in own if not _has_default(each))]
    return {
        "description": (inspect.getdoc(kind) or "").partition("\n\n")[0],
        "type": "object",
        "properties": {**more, **properties},
        "required": required,
        "additionalProperties": False,
    }


def _is_written(kind: type, name: str) -> bool:
    """Return True if the IR's text has the field: a state's name is its key, and a workflow has only `TOP_LEVEL`."""
    return name in TOP_LEVEL if kind is ir.Workflow else not (issubclass(kind, states.State) and name == "name")


def _attributes(kind: type) -> Iterator[tuple[str, str]]:
    """Yield (field, description) from the docstrings, base classes first."""
    # A derived class may describe an inherited field anew, so its docstring comes last.
    for each in reversed(kind.__mro__):
        for name, text in _ATTRIBUTE.findall(inspect.cleandoc(each.__doc__ or "")):
            yield name, " ".join(text.split())


def _about(attribute: Field[Any], about: Mapping[str, str]) -> dict[str, Json]:
    description = {"description": about[attribute.name]} if attribute.name in about else {}
    has_value = attribute.default is not MISSING
    default = list(attribute.default) if isinstance(attribute.default, tuple) else attribute.default
    return {**description, "default": default} if has_value else description


def _has_default(attribute: Field[Any]) -> bool:
    return attribute.default is not MISSING or attribute.default_factory is not MISSING


def _schema_of(hint: Any) -> dict[str, Json]:
    """Return the schema of values of the type `hint`."""
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is states.State:
        return {"oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in KINDS]}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [str(each) for each in hint]}
    if isinstance(hint, type) and is_dataclass(hint):
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return _schema_of_generic(get_origin(hint), get_args(hint))


def _schema_of_generic(origin: Any, arguments: tuple[Any, ...]) -> dict[str, Json]:
    if origin is UnionType and not _PLAIN.keys() >= {*arguments}:
        return {"anyOf": [_schema_of(each) for each in arguments]}
    if origin is UnionType:
        return {"type": [_PLAIN[each] for each in arguments]}
    if origin is list:
        return {"type": "array", "items": _schema_of(arguments[0])}
    if origin is tuple and arguments[1:] == (...,):
        return {"type": "array", "items": _schema_of(arguments[0])}
    if origin is tuple:
        items = [_schema_of(each) for each in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    inner = _schema_of(arguments[1])
    return {"type": "object", "additionalProperties": inner} if inner else {"type": "object"}
