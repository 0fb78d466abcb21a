"""Frozen dataclasses and named tuples that take a tenth of the time to make.

Every cold start makes some ninety such classes. `dataclasses` loads Python's parser and disassembler, and compiles up
to seven methods for each frozen class; `typing`, of which named tuples are made, loads for as long as twenty of our
modules. Here nothing is compiled and neither is loaded: classes share methods, or have closures over the names of their
fields. To type checkers, and to `dataclasses` when somebody asks it, they are dataclasses. A class that inherits from
one of them has to be made here too.
"""

from __future__ import annotations

from collections import namedtuple
from operator import attrgetter

TYPE_CHECKING = False
"""As in `typing`, which is not loaded for it."""

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass, field, fields, replace
    from typing import Any, NamedTuple, NoReturn

__all__ = ["NamedTuple", "dataclass", "field", "fields", "replace"]

_MISSING: Any = object()


class _Field:
    """What is known of a field, under the names that `dataclasses.Field` has for it.

    Attributes:
        name: its name.
        kw_only: whether it is given by name alone.
        default: what it is where it is not given; `_MISSING` for nothing.
        default_factory: what makes that; `_MISSING` for nothing.
        repr: whether it is shown.
        compare: whether objects with other values of it are others.
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
        """The arguments by which `dataclasses.field` makes the same."""
        given = {name: value for name, value in vars(self).items() if value is not _MISSING}
        del given["name"]
        return given


class _StandardFields:
    """The fields of a class as `dataclasses` has them, made when it asks for them."""

    def __get__(self, _instance: Any, cls: Any) -> Any:
        import dataclasses  # noqa: PLC0415 - see above

        twin = [(each.name, object, dataclasses.field(**each.options())) for each in _fields(cls)]
        made: Any = dataclasses.make_dataclass(cls.__name__, twin)
        cls.__dataclass_fields__ = made.__dataclass_fields__
        return cls.__dataclass_fields__


def _frozen(*, frozen: bool, eq: bool = True, kw_only: bool = False) -> Callable[[type], type]:
    """As `dataclasses.dataclass` has it, for classes that are `frozen`."""
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
    """The fields that `cls` has annotations for; their defaults are in the class, as those of attributes are."""
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
    """The fields of a class that was made here, or of an object of it."""
    return (*record.__unum_fields__.values(),)


def _replace(record: Any, /, **changes: Any) -> Any:
    """Another object like `record`, but for `changes`."""
    return record.__class__(**{**_values(record), **changes})


def _values(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__unum_fields__}


def _init(cls: Any) -> Callable[..., None]:
    """A method that sets the fields of `cls`; its arguments are what that of a dataclass takes.

    A step makes some twenty objects, so it does no more than it must: it is the code of a template with arguments of
    other names, and Python itself assigns them and refuses what does not fit.
    """
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
"""By the number of fields: the names of the arguments of `update` are one constant of the code, a tuple."""


def _template() -> None:
    """For more fields, and for those that something is made for: the arguments are taken as they are."""
    settle(locals())  # type: ignore[name-defined]  # noqa: F821 - what that is, differs for each class


_FunctionType: Any = type(_template)


def _default(field: _Field) -> Any:
    return _MADE if field.default_factory is not _MISSING else field.default


def _settling(cls: Any) -> Callable[[dict[str, Any]], None]:
    """What makes the fields of an object of the arguments of its `__init__`, ``self`` included."""
    factories = tuple(
        (each.name, each.default_factory) for each in _fields(cls) if each.default_factory is not _MISSING
    )
    put = object.__setattr__

    def settle(arguments: dict[str, Any]) -> None:
        values = arguments.copy()  # a debugger that looks at the frame would put all of them back into `arguments`
        for name, make in factories:
            if values[name] is _MADE:
                values[name] = make()
        put(values.pop("self"), "__dict__", values)

    return settle


_MADE = object()
"""The default of what a factory makes."""


def _equality(cls: Any) -> dict[str, Callable[..., Any]]:
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
    """For `copy` and `pickle`, which would set the fields one by one."""
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
    """Makes a named tuple of each class that inherits from `NamedTuple`."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        """The tuple, with what else `body` has."""
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
    """As `typing.NamedTuple`."""


if not TYPE_CHECKING:
    dataclass, field, fields, replace, NamedTuple = _frozen, _Field, _fields, _replace, _NamedTuple
