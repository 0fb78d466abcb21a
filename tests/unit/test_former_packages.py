"""Imports of packages that left `unum_runtime` for distributions of their own."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from unum_runtime.former_names import MOVED_PACKAGES

PYTHON = Path(__file__).parents[2] / "runtime_layer" / "python"


@pytest.mark.parametrize(("old", "current"), MOVED_PACKAGES.items())
def test_former_package_is_the_current_one(old: str, current: str) -> None:
    assert import_module(old) is import_module(current)


def test_module_of_former_package_is_loaded_once() -> None:
    assert import_module("unum_runtime.simulator.faults") is import_module("unum_simulator.faults")


def test_unknown_module_of_former_package_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'unum_simulator\.none_such'$"):
        import_module("unum_runtime.simulator.none_such")


@pytest.mark.parametrize("module", ["unum_runtime.other", "unum_runtime.simulators"])
def test_other_modules_of_the_runtime_are_not_found(module: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"^No module named '{module}'$"):
        import_module(module)


@pytest.mark.parametrize(("old", "current"), MOVED_PACKAGES.items())
def test_error_names_the_distribution_that_is_missing(old: str, current: str, tmp_path: Path) -> None:
    """The runtime alone is on the path, as `pip install unum-runtime` leaves it."""
    (tmp_path / "unum_runtime").symlink_to(PYTHON / "unum_runtime")
    code = f"import {old}"
    done = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    package = current.partition(".")[0]
    distribution = package.replace("_", "-")
    expected = f"{old} is now {current}, in the distribution {distribution}: pip install {distribution}"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {expected}"
