"""Frozen dataclasses that take a tenth of the time to make.

`dataclasses.dataclass` compiles up to seven methods for each frozen class. The modules that every step needs have some
seventy such classes, and making them was two thirds of what importing those modules took. Here nothing is compiled:
classes share methods, or have closures over the names of their fields. To type checkers, to `dataclasses.fields` and to
`dataclasses.replace` they are dataclasses. A class that inherits from one of them has to be made here too.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from types import FunctionType
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

    A step makes some twenty objects, so it does no more than it must: it is the code of `_template` with arguments of
    other names, and Python itself assigns them and refuses what does not fit. Where the class has no slots, the
    dictionary of the arguments becomes that of the object, at once: so classes that every step makes have none.
    """
    by_position = [each for each in fields(cls) if not each.kw_only]
    by_name = [each for each in fields(cls) if each.kw_only]
    arguments = ("self", *(each.name for each in (*by_position, *by_name)))
    code = _template.__code__.replace(
        co_name="__init__",
        co_qualname=f"{cls.__qualname__}.__init__",
        co_varnames=arguments,
        co_nlocals=len(arguments),
        co_argcount=1 + len(by_position),
        co_kwonlyargcount=len(by_name),
    )
    init = FunctionType(code, {"settle": _settling(cls)})
    init.__defaults__ = tuple(default for each in by_position if (default := _default(each)) is not MISSING)
    init.__kwdefaults__ = {each.name: default for each in by_name if (default := _default(each)) is not MISSING}
    return init


def _template() -> None:
    settle(locals())  # type: ignore[name-defined]  # noqa: F821 - what that is, differs for each class


def _default(field: Any) -> Any:
    return _MADE if field.default_factory is not MISSING else field.default


def _settling(cls: Any) -> Callable[[dict[str, Any]], None]:
    """What makes the fields of an object of the arguments of its `__init__`, ``self`` included."""
    factories = tuple((each.name, each.default_factory) for each in fields(cls) if each.default_factory is not MISSING)
    put = object.__setattr__

    def settle(values: dict[str, Any]) -> None:
        for name, make in factories:
            if values[name] is _MADE:
                values[name] = make()
        put(values.pop("self"), "__dict__", values)

    def settle_slots(values: dict[str, Any]) -> None:
        for name, make in factories:
            if values[name] is _MADE:
                values[name] = make()
        own = values.pop("self")
        for name, value in values.items():
            put(own, name, value)

    return settle if cls.__dictoffset__ else settle_slots


_MADE = object()
"""The default of what a factory makes."""


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
