"""Imports by the names of version 0.1.0."""

from importlib import import_module

import pytest

import unum_client  # noqa: F401 - redirects the names
from unum_client.former_modules import MOVED
from unum_runtime.former_names import parse_names


@pytest.mark.parametrize(("old", "current"), parse_names(MOVED).items())
def test_former_name_imports_the_current_module(old: str, current: str) -> None:
    assert import_module(old) is import_module(current)
    assert import_module(f"unum_runtime.client{old.removeprefix('unum_client')}") is import_module(current)


def test_a_table_names_modules_and_packages() -> None:
    table = "a.b c.d: same old=new\na .: package=other"
    assert parse_names(table) == {"a.b.same": "c.d.same", "a.b.old": "c.d.new", "a.package": "other"}
