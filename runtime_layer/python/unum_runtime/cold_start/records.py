"""Frozen dataclasses and named tuples at a tenth of the standard library's cost per class.

A cold start creates some ninety such classes. `dataclasses` loads Python's parser and disassembler, and compiles up to
seven methods for each frozen class. This module compiles nothing: classes share methods, or have closures over their
fields' names. Type checkers and `dataclasses` treat the classes as dataclasses. Subclasses must use this module too.
"""

from __future__ import annotations

from collections import namedtuple
from operator import attrgetter

TYPE_CHECKING = False
"""Flag of type checkers, as in `typing`."""

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass, field, fields, replace
    from typing import Any, NamedTuple, NoReturn

__all__ = ["NamedTuple", "dataclass", "field", "fields", "replace"]

_MISSING: Any = object()


class _Field:
    """Field, with the attribute names of `dataclasses.Field`.

    Attributes:
        name: name.
        kw_only: keyword-only argument.
        default: default value; `_MISSING` for none.
        default_factory: factory of the default; `_MISSING` for none.
        repr: part of the representation.
        compare: part of comparisons.
    """

    name: str
    kw_only: bool

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        repr: bool = True,  # noqa: A002 - the name that `dataclasses` has for it
        compare: bool = True,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.repr = repr
        self.compare = compare

    def options(self) -> dict[str, Any]:
        """Return the arguments of `dataclasses.field` for an equal field."""
        passed = {name: value for name, value in vars(self).items() if value is not _MISSING}
        del passed["name"]
        return passed


class _StandardFields:
    """Fields of a class as `dataclasses` has them, created on first access."""

    def __get__(self, _instance: Any, cls: Any) -> Any:
        import dataclasses  # noqa: PLC0415 - see above

        twin = [(each.name, object, dataclasses.field(**each.options())) for each in _fields(cls)]
        made: Any = dataclasses.make_dataclass(cls.__name__, twin)
        cls.__dataclass_fields__ = made.__dataclass_fields__
        return cls.__dataclass_fields__


def _frozen(*, frozen: bool, eq: bool = True, kw_only: bool = False) -> Callable[[type], type]:
    """Create frozen dataclasses, with the arguments of `dataclasses.dataclass`."""
    if not frozen:
        raise TypeError("expected frozen=True; for other classes there is dataclasses.dataclass")

    def made(cls: Any) -> Any:
        given = {*cls.__dict__}
        cls.__unum_fields__ = {**_inherited(cls), **_own(cls, kw_only=kw_only)}
        positional = tuple(each.name for each in _fields(cls) if not each.kw_only)
        own = {"__match_args__": positional, "__init__": _init(cls), **(_equality(cls) if eq else {})}
        for name, value in {**_SHARED, **own}.items():
            if name not in given:
                setattr(cls, name, value)
        return cls

    return made


def _inherited(cls: Any) -> Mapping[str, _Field]:
    found: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= base.__dict__.get("__unum_fields__", {})
    return found


def _own(cls: Any, *, kw_only: bool) -> dict[str, _Field]:
    """Return the fields of `cls` by its annotations, and leave their defaults as class attributes."""
    found = {}
    for name in cls.__annotations__:
        value = cls.__dict__.get(name, _MISSING)
        if value.__class__.__module__ == "dataclasses":
            raise TypeError(
                f"{cls.__qualname__}.{name}: expected unum_runtime.cold_start.records.field, got dataclasses.field"
            )
        each = value if isinstance(value, _Field) else _Field(default=value)
        each.name, each.kw_only = name, kw_only
        if each.default is not _MISSING:
            setattr(cls, name, each.default)
        elif value is not _MISSING:
            delattr(cls, name)
        found[name] = each
    return found


def _fields(record: Any) -> tuple[_Field, ...]:
    """Return a record's fields, or a record class's."""
    return (*record.__unum_fields__.values(),)


def _replace(record: Any, /, **changes: Any) -> Any:
    """Return a copy of `record` with `changes`."""
    return record.__class__(**{**_values(record), **changes})


def _values(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__unum_fields__}


def _init(cls: Any) -> Callable[..., None]:
    """Return an ``__init__`` for `cls` with a dataclass's arguments.

    It is the code of a template with the field names as argument names, so Python itself binds and checks arguments.
    """
    # A step creates some twenty objects: closures that compared names took 1.6 times as long, a tenth of a hop.
    by_position = [each for each in _fields(cls) if not each.kw_only]
    by_name = [each for each in _fields(cls) if each.kw_only]
    names = tuple(each.name for each in (*by_position, *by_name))
    has_own = len(names) < len(_TEMPLATES) and all(each.default_factory is _MISSING for each in _fields(cls))
    template = _TEMPLATES[len(names)].__code__ if has_own else _template.__code__
    code = template.replace(
        co_name="__init__",
        co_qualname=f"{cls.__qualname__}.__init__",
        co_consts=tuple(names if isinstance(each, tuple) else each for each in template.co_consts),
        co_varnames=("self", *names),
        co_nlocals=1 + len(names),
        co_argcount=1 + len(by_position),
        co_kwonlyargcount=len(by_name),
    )
    init: Any = _FunctionType(code, {} if has_own else {"settle": _settling(cls)})
    init.__defaults__ = tuple(default for each in by_position if (default := _default(each)) is not _MISSING)
    init.__kwdefaults__ = {each.name: default for each in by_name if (default := _default(each)) is not _MISSING}
    return init  # type: ignore[no-any-return]


_TEMPLATES: tuple[Any, ...] = (
    lambda self: None,  # noqa: ARG005 - has no fields
    lambda self, a: self.__dict__.update(a=a),
    lambda self, a, b: self.__dict__.update(a=a, b=b),
    lambda self, a, b, c: self.__dict__.update(a=a, b=b, c=c),
    lambda self, a, b, c, d: self.__dict__.update(a=a, b=b, c=c, d=d),
    lambda self, a, b, c, d, e: self.__dict__.update(a=a, b=b, c=c, d=d, e=e),
    lambda self, a, b, c, d, e, f: self.__dict__.update(a=a, b=b, c=c, d=d, e=e, f=f),
    lambda self, a, b, c, d, e, f, g: self.__dict__.update(a=a, b=b, c=c, d=d, e=e, f=f, g=g),
    lambda self, a, b, c, d, e, f, g, h: self.__dict__.update(a=a, b=b, c=c, d=d, e=e, f=f, g=g, h=h),
    lambda self, a, b, c, d, e, f, g, h, i: self.__dict__.update(a=a, b=b, c=c, d=d, e=e, f=f, g=g, h=h, i=i),
)
"""Templates by number of fields. The argument names of `update` are one constant of the code, a tuple."""


def _template() -> None:
    """Template for many fields, or factories."""
    settle(locals())  # type: ignore[name-defined]  # noqa: F821 - what that is, differs for each class


# `types.FunctionType`, without an import of `types`.
_FunctionType: Any = type(_template)


def _default(field: _Field) -> Any:
    return _MADE if field.default_factory is not _MISSING else field.default


def _settling(cls: Any) -> Callable[[dict[str, Any]], None]:
    """Return a function that sets an object's fields from the arguments of its ``__init__``, ``self`` included."""
    factories = tuple(
        (each.name, each.default_factory) for each in _fields(cls) if each.default_factory is not _MISSING
    )
    put = object.__setattr__

    def settle(arguments: dict[str, Any]) -> None:
        # Before Python 3.13, a debugger that reads the frame's variables puts all of them back into `arguments`.
        values = arguments.copy()
        for name, make in factories:
            if values[name] is _MADE:
                values[name] = make()
        put(values.pop("self"), "__dict__", values)

    return settle


_MADE = object()
"""Default of fields with a factory."""


def _equality(cls: Any) -> dict[str, Callable[..., Any]]:
    # One `attrgetter` runs in C: it compares all fields as two tuples.
    compared = [each.name for each in _fields(cls) if each.compare]
    values: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()

    def eq(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": eq, "__hash__": lambda self: hash(values(self))}


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in _fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(_self: Any, name: str, _value: Any = None) -> NoReturn:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - see above

    raise FrozenInstanceError(f"cannot change field {name!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    """Support `copy` and `pickle`, which otherwise set fields one by one."""
    return _rebuilt, (self.__class__, _values(self))


def _rebuilt(cls: Any, values: dict[str, Any]) -> Any:
    return cls(**values)


_SHARED = {
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__reduce__": _reduce,
    "__dataclass_fields__": _StandardFields(),
}


class _TupleMaker(type):
    """Metaclass that replaces each subclass of `NamedTuple` by a named tuple."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        """Return a named tuple with the other attributes of `body`."""
        if not bases:
            return super().__new__(cls, name, bases, body)
        names = type(name, (), dict(body)).__annotations__
        defaults = [body[each] for each in names if each in body]
        named: Any = namedtuple  # noqa: PYI024 - see above
        made = named(name, names, defaults=defaults, module=body["__module__"])
        for each, value in body.items():
            if each not in (*names, "__module__", "__dict__", "__weakref__"):
                setattr(made, each, value)
        return made


class _NamedTuple(metaclass=_TupleMaker):
    """Base of named tuples, as `typing.NamedTuple`."""


if not TYPE_CHECKING:
    dataclass, field, fields, replace, NamedTuple = _frozen, _Field, _fields, _replace, _NamedTuple
