"""Frozen dataclasses that take a tenth of the time to make.

`dataclasses.dataclass` compiles up to seven methods for each frozen class. The modules that every step needs have some
seventy such classes, and making them was two thirds of what importing those modules took. Here nothing is compiled:
classes share methods, or have closures over the names of their fields. To type checkers, to `dataclasses.fields` and to
`dataclasses.replace` they are dataclasses. A class that inherits from one of them has to be made here too.
"""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]


def _frozen(*, frozen: bool, eq: bool = True, slots: bool = False, kw_only: bool = False) -> Callable[[type], type]:
    """As `dataclasses.dataclass` has it, for classes that are `frozen`."""
    if not frozen:
        raise TypeError("expected frozen=True; for other classes there is dataclasses.dataclass")

    def made(plain: type) -> type:
        cls: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(plain)
        given = plain.__dict__.keys()
        for name, method in {**_SHARED, **(_equality(cls) if eq else {}), "__init__": _init(cls)}.items():
            if name not in given:
                setattr(cls, name, method)
        return cls  # type: ignore[no-any-return]

    return made


def _init(cls: Any) -> Callable[..., None]:
    """A method that sets the fields of `cls`; its arguments are what that of a dataclass takes.

    A step makes some twenty objects, so it does no more than it must. Where the class has no slots, the dictionary that
    Python has made for the arguments becomes that of the object, at once: so classes that every step makes have none.
    What is left out is found in the class, or made.
    """
    all_fields = fields(cls)
    names = {each.name for each in all_fields}
    positional = tuple(each.name for each in all_fields if not each.kw_only)
    defaults = {each.name: each.default for each in all_fields if each.default is not MISSING}
    factories = {each.name: each.default_factory for each in all_fields if each.default_factory is not MISSING}
    required = names - defaults.keys() - factories.keys()
    # A function that is found in the class is taken for a method.
    absent = tuple(factories.items()) + tuple((name, partial(_same, d)) for name, d in defaults.items() if callable(d))
    least, most = len(required) if required.issubset(positional) else len(names) + 1, len(positional)
    put, has_slots = object.__setattr__, not cls.__dictoffset__

    def init(self: Any, *args: Any, **given: Any) -> None:
        if given:
            values = {**dict(zip(positional, args, strict=False)), **given} if args else given
            fits = len(values) == len(args) + len(given) and required <= values.keys() <= names
        else:
            values = dict(zip(positional, args))  # noqa: B905 - the keyword takes as long as the rest
            fits = least <= len(args) <= most
        if not fits:
            raise TypeError(_mismatch(cls, positional, args, given, required - values.keys()))
        for name, make in absent:
            if name not in values:
                values[name] = make()
        if has_slots:
            for name, value in {**defaults, **values}.items():
                put(self, name, value)
        else:
            put(self, "__dict__", values)

    return init


def _same(value: Any) -> Any:
    return value


def _mismatch(
    cls: type, positional: tuple[str, ...], args: tuple[Any, ...], given: Iterable[str], missing: set[str]
) -> str:
    twice = [name for name in given if name in positional[: len(args)]]
    unknown = [name for name in given if name not in cls.__dataclass_fields__]  # type: ignore[attr-defined]
    return (
        f"{cls.__qualname__}(): missing {sorted(missing)}, unknown {unknown}, given twice {twice}; "
        f"{len(args)} of {len(positional)} positional arguments"
    )


def _equality(cls: Any) -> dict[str, Callable[..., Any]]:
    compared = [each.name for each in fields(cls) if each.compare]
    values: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()

    def eq(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": eq, "__hash__": lambda self: hash(values(self))}


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(_self: Any, name: str, _value: Any = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    """For `copy` and `pickle`, which would set the fields one by one."""
    return _rebuilt, (self.__class__, {each.name: getattr(self, each.name) for each in fields(self)})


def _rebuilt(cls: Any, values: dict[str, Any]) -> Any:
    return cls(**values)


_SHARED = {"__repr__": _repr, "__setattr__": _refuse, "__delattr__": _refuse, "__reduce__": _reduce}

if not TYPE_CHECKING:
    dataclass = _frozen
