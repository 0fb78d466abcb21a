"""Executions that AWS recorded: they lie beside the checkout, or where UNUM_ASL_CASES says, and are read in place."""

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "asl-cases"
FOLDER = Path(os.environ.get("UNUM_ASL_CASES", BESIDE))

needed = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recorded executions in {FOLDER}")
"""Marks tests that cannot run without them."""


def cases(name: str) -> Iterator[dict[str, Any]]:
    """Return the cases of file `name`; none without such a file."""
    if not FOLDER.is_dir():
        return
    with (FOLDER / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@cache
def judge() -> ModuleType:
    """The module that answers the Tasks of a case and compares how it ended."""
    spec = importlib.util.spec_from_file_location("oracle", FOLDER / "oracle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["oracle"] = module
    spec.loader.exec_module(module)
    return module
