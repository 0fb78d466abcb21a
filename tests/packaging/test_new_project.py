"""A new project, as users make it: from the distributions alone, by the project's own commands."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.environments import WITHOUT_CDK, environment

pytestmark = [pytest.mark.packaging, pytest.mark.e2e, pytest.mark.timeout(20 * 60)]

START = """
set -e
unum start --stack MyShop --name first --input '{"order": {"apple": 3, "plum": 2}}'
unum wait first --stack MyShop
"""


class Project:
    """The folder of the project, with programs that find no checkout.

    Attributes:
        folder: the folder.
        unum: the command in an environment without the CDK.
    """

    def __init__(self, folder: Path, distributions: Path, unum: Path) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        # Only what is imported is compiled, which is little of the CDK.
        self.environment = {**own, "PIP_FIND_LINKS": str(distributions), "PIP_NO_COMPILE": "1"}
        self.folder = folder
        self.unum = str(unum)

    def run(self, *command: str) -> str:
        done = subprocess.run(  # noqa: S603 - the project's own commands
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture(scope="module")
def project(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project made by `unum init` of an environment with the command alone."""
    folder = tmp_path_factory.mktemp("user")
    needed = [path for name in WITHOUT_CDK for path in distributions.glob(f"{name}-*.whl")]
    unum = environment(folder, sys.executable, *map(str, needed)).parent / "unum"
    Project(folder, distributions, unum).run(str(unum), "init", "my-shop")
    return Project(folder / "my-shop", distributions, unum)


def test_its_tests_pass(project: Project) -> None:
    assert re.search(r"4 passed", project.run("make", "test"))


@pytest.fixture(scope="module")
def emulator(project: Project) -> None:
    project.run("make", "setup", ".venv-emulator/ready")


@pytest.mark.usefixtures("emulator")
def test_it_is_deployed_with_permissions_enforced_and_runs(project: Project) -> None:
    """The command of the first environment finds the CDK of the project's."""
    shown = project.run(project.unum, "dev", "--auth", "sh", "-c", START)
    assert re.search(r'"lines": 2,\s+"cents": 130', shown), shown


@pytest.fixture
def developing(project: Project, tmp_path: Path) -> Iterator[Path]:
    """`unum dev` as it watches; the file with what it prints."""
    printed = tmp_path / "printed"
    with printed.open("wb") as file:
        process = subprocess.Popen(
            [".venv/bin/unum", "dev"],
            cwd=project.folder,
            env={**project.environment, "PYTHONUNBUFFERED": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Jobs in the background inherit that Ctrl-C is ignored, and so would this one.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one thread
        )
    yield printed
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal
    process.wait(timeout=60)
    assert not (project.folder / ".unum-dev.env").exists()


@pytest.mark.usefixtures("emulator")
def test_a_change_is_deployed_and_log_lines_are_shown(project: Project, developing: Path) -> None:
    until(developing, r"\. \./\.unum-dev\.env")
    inside = ("sh", "-c", f"PATH=.venv/bin:$PATH; . ./.unum-dev.env; {START}")
    assert '"cents": 130' in project.run(*inside)
    code = project.folder / "functions" / "orders.py"
    code.write_text(code.read_text().replace('"apple": 30', '"apple": 40') + '\n\nprint("loaded anew")\n')
    until(developing, r"(?s)Deployed\..*Changed: functions/orders\.py.*Deployed\.")
    assert '"cents": 160' in project.run(*(each.replace("first", "second") for each in inside))
    until(developing, "MyShop-Tasks.*: .*loaded anew")
    until(developing, r"http://127\.0\.0\.1:\d+/")


def until(printed: Path, pattern: str) -> None:
    end_s = time.monotonic() + 240
    while not re.search(pattern, printed.read_text()):
        assert time.monotonic() < end_s, printed.read_text()[-3000:]
        time.sleep(0.3)
