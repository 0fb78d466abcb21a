"""A sample of all mutants in every run of the tests; `make simulate` tries them all."""

import subprocess
import sys

import pytest

from tests.mutation.mutants import ROOT

COMMAND = [sys.executable, "-m", "tests.mutation.try_sample"]


@pytest.mark.timeout(900)  # a minute on an idle machine
def test_a_sample_does_not_refute_the_goal() -> None:
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert done.returncode == 0, done.stdout + done.stderr
