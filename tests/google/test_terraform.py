"""The example's Terraform file, as far as it can be checked without Google Cloud."""

import importlib.util
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from tests.google.local_platform import EXAMPLE, HANDLERS
from unum_google.adapters import SERVICE, Service
from unum_google.function import START, SWEEP, Search

TEXT = (EXAMPLE / "main.tf").read_text(encoding="utf-8")


def test_it_configures_fields_that_functions_know() -> None:
    (given,) = re.findall(rf"{SERVICE} = jsonencode\(\{{\n(.*?)\n\s*\}}\)", TEXT, re.DOTALL)
    names = re.findall(r"^\s*(\w+)\s+=", given, re.MULTILINE)
    known = {each.name for each in fields(Service)}
    assert {*names} <= known
    assert {*names} >= known - {"retention_s", "timeout_s", "attempts", "certs_url", "store"}


def test_its_sweeps_are_such_requests_and_give_up_after_cloud_tasks() -> None:
    (fields,) = re.findall(r"body\s+= base64encode\(jsonencode\(\{(.*?)\}\)\)", TEXT)
    given = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", fields)}
    (dropped_s,) = map(int, re.findall(r'max_retry_duration = "(\d+)s"', TEXT))
    assert Search.from_json(given).give_up_s > dropped_s
    assert f'["recovery"]}}{SWEEP}"' in TEXT


def test_its_handlers_are_those_of_the_test_and_exist() -> None:
    found = {
        name: dict(re.findall(r"(\w+) = \"([\w.]+)\"", body))
        for name, body in re.findall(r"^    (\w+) = \{(.*)\}$", TEXT, re.MULTILINE)
    }
    assert found == HANDLERS
    spec = importlib.util.spec_from_file_location("orders", EXAMPLE / "functions" / "orders.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert all(hasattr(module, path.partition(".")[2]) for keys in found.values() for path in keys.values())
    assert START in TEXT


@pytest.mark.skipif(shutil.which("terraform") is None, reason="Terraform is not installed")
def test_terraform_reads_it(tmp_path: Path) -> None:
    terraform = str(shutil.which("terraform"))
    command = [terraform, "fmt", "-check", "-diff", str(EXAMPLE)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert done.returncode == 0, done.stdout + done.stderr
