"""Distributions, built once."""

import sys
from pathlib import Path

import pytest

from tests.packaging.environments import EVERY, uv


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all distributions: archives of the sources, and wheels built from those."""
    folder = tmp_path_factory.mktemp("distributions")
    for project in EVERY.values():
        uv("build", "--no-build-isolation", "--python", sys.executable, "--out-dir", str(folder), str(project))
    return folder
