"""Imports by the names of version 0.1.0."""

from importlib import import_module

import pytest

import unum_constructs
from unum_constructs._former_names import former_names


@pytest.mark.parametrize(("old", "current"), former_names().items())
def test_a_former_name_is_the_module_of_today(old: str, current: str) -> None:
    assert import_module(old) is import_module(current)


def test_what_is_public_keeps_its_module() -> None:
    for name in ("Definition", "Payload", "UnumWorkflow", "Store", "Sweep", "UnumFunction"):
        assert unum_constructs._MODULES[name].startswith("unum_constructs.")


def test_a_name_that_never_was_is_unknown() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("unum_constructs.compiler.none_such")
