"""Builds and releases run only code that was chosen: actions by commit, no install scripts of packages."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # tests alone read the workflows

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
SCRIPTS = [
    ROOT / "Makefile",
    *sorted((ROOT / ".ci").iterdir()),
    *WORKFLOWS,
    ROOT / "unum_cli" / "project" / "template" / "Makefile",
]

HARMLESS_SCRIPTS = {"node_modules/protobufjs": "warns of ranges of versions"}
"""Packages with an install script that does nothing they need, and what it does."""

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)+")
READ_ONLY = {"contents": "read"}


def actions_by_name(text: str) -> list[str]:
    """Return the actions that are not named by a commit, with their version behind it."""
    used = re.findall(r"^[\s-]*uses:\s*(.+?)\s*$", text, re.MULTILINE)
    return [action for action in used if not action.startswith("./") and not PINNED.fullmatch(action)]


def excess_permissions(text: str) -> list[str]:
    """Return jobs that may write and run code of the repository, and what grants more than reading to all jobs."""
    workflow: Any = yaml.safe_load(text)
    found = [] if workflow.get("permissions") == READ_ONLY else ["permissions: expected contents: read"]
    for name, job in workflow["jobs"].items():
        writes = "write" in (job.get("permissions") or {}).values() if job.get("permissions") != "write-all" else True
        runs = [step for step in job["steps"] if "run" in step or "checkout" in step.get("uses", "")]
        found += [f"{name}: may write, and runs {runs}"] if writes and runs else []
    return found


def kept_tokens(text: str) -> list[str]:
    """Return jobs whose clone keeps the token of the forge, which all later steps could read."""
    jobs: Any = yaml.safe_load(text)["jobs"]
    return [
        name
        for name, job in jobs.items()
        for step in job["steps"]
        if "actions/checkout" in step.get("uses", "") and step.get("with", {}).get("persist-credentials") is not False
    ]


def running_scripts(text: str) -> list[str]:
    """Return the commands that install packages of npm and run their scripts."""
    commands = re.findall(r"^.*\bnpm (?:ci|install|i|update|rebuild)\b.*$", text, re.MULTILINE)
    return [command for command in commands if "--ignore-scripts" not in command]


@pytest.mark.parametrize("check", [actions_by_name, excess_permissions, kept_tokens])
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_chosen_code_with_least_permissions(check: Callable[[str], list[str]], path: Path) -> None:
    assert check(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_of_npm_run_no_install_scripts(path: Path) -> None:
    assert running_scripts(path.read_text(encoding="utf-8")) == []


def test_no_package_of_npm_needs_its_install_script() -> None:
    lock: Any = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    scripted = {name for name, package in lock["packages"].items() if package.get("hasInstallScript")}
    assert scripted == set(HARMLESS_SCRIPTS)


def _replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


def _by(version: str) -> Callable[[str], str]:
    return lambda text: re.sub(r"actions/checkout@\S+ # \S+", f"actions/checkout{version}", text, count=1)


@pytest.mark.parametrize(
    ("check", "mistake"),
    [
        (actions_by_name, _by("@v4")),
        (actions_by_name, _by("")),
        (actions_by_name, _by("@main # v4.4.0")),
        (actions_by_name, _by("@11d5960 # v4.4.0")),
        (actions_by_name, _by(f"@{'a' * 40}")),
        (excess_permissions, _replaced("permissions:\n  contents: read", "permissions: write-all")),
        (excess_permissions, _replaced("permissions:\n  contents: read\n", "")),
        (
            excess_permissions,
            _replaced("      - uses: actions/download", "      - run: make\n      - uses: actions/download"),
        ),
        (kept_tokens, _replaced("persist-credentials: false", "persist-credentials: true")),
        (kept_tokens, _replaced("        with:\n          persist-credentials: false\n", "")),
    ],
)
def test_mistakes_in_a_workflow_are_found(check: Callable[[str], list[str]], mistake: Callable[[str], str]) -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert mistake(text) != text
    assert check(mistake(text)) != []


@pytest.mark.parametrize("command", ["\tnpm ci", "  - run: npm install --no-audit", "npm i x && true", "npm update"])
def test_commands_that_run_scripts_are_found(command: str) -> None:
    assert running_scripts(f"first\n{command}\nlast") == [command]
    assert running_scripts(f"{command} --ignore-scripts") == []
