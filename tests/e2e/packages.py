"""Code of functions with packages of this environment, as a bundler would lay it out."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement

IN_LAMBDA = ("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3")
"""What Lambda's Python has, or what comes with it."""


@cache
def with_packages(module: Path, *names: str) -> Path:
    """A folder with `module`, and with the packages `names` and what they need."""
    folder = Path(tempfile.mkdtemp(prefix="unum-e2e-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copy(module, folder)
    for needed in {each.name: each for name in names for each in _needed(packages_distributions()[name][0])}.values():
        for file in needed.files or ():
            if "__pycache__" not in file.parts and ".." not in file.parts:
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(str(file.locate())), target)
    return folder


def _needed(name: str) -> Iterator[Distribution]:
    found = distribution(name)
    yield found
    for text in found.requires or ():
        requirement = Requirement(text)
        is_optional = requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})
        if not is_optional and requirement.name not in IN_LAMBDA:
            yield from _needed(requirement.name)
