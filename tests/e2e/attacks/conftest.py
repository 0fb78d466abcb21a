"""The catalogue of attacks deploys its own stacks alone, with a limit of their own that counts against no test."""

import shlex
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest

from tests.e2e.conftest import APP, ROOT, Deployment
from unum_emulator import cdk
from unum_emulator.process import Emulator

STACKS = "Attacks Callbacks Probes"
DEPLOYMENT_S = 1_800
"""Longest deployment. It depends on what else the machine does, so it is apart from the limit of a test."""


@pytest.fixture(scope="package")
def deployment(bootstrapped: Emulator) -> Deployment:
    """The stacks of the catalogue alone, deployed once."""
    app = f"UNUM_STACKS={shlex.quote(STACKS)} {APP}"
    with ThreadPoolExecutor(1) as deploying:
        deployed = deploying.submit(
            cdk.deploy, bootstrapped, ["--all"], app=app, cwd=ROOT, progress=ending_after(DEPLOYMENT_S)
        )
        return Deployment(boto3.Session(), deployed.result(DEPLOYMENT_S + 60))


def ending_after(seconds: float) -> Callable[[str], None]:
    """Return a function that raises TimeoutError when it gets a line of output after `seconds`."""
    end_s = time.monotonic() + seconds

    def check(line: str) -> None:
        if time.monotonic() > end_s:
            raise TimeoutError(f"expected the deployment within {seconds} s, got {line!r}")

    return check
