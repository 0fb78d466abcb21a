"""The page of ``unum ui`` over a deployed workflow, as the command serves it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape

import pytest

from tests.e2e.conftest import Deployment, until
from tests.unit.cli.ui.shop import Visitor
from unum_cli.ui.directory import Directory
from unum_cli.ui.guard import Secrets
from unum_cli.ui.site import Site
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e

COMMAND = (sys.executable, "-c", "import sys; from unum_cli.main import main; sys.exit(main())", "ui")


@contextmanager
def page(*arguments: str) -> Iterator[Visitor]:
    """Return a client that has opened the URL printed by the command."""
    command = [*COMMAND, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - written above
        try:
            assert process.stdout is not None
            port, token = re.findall(r":(\d+)/\?token=(\S+)", process.stdout.readline())[0]
            yield Visitor(Site(Directory(dict), Secrets(int(port), token=token))).enter()
        finally:
            process.terminate()


def test_the_shell_of_the_emulator_has_a_page_that_answers() -> None:
    """The shell of `make emulator` prints the URL of a page, which ends with the shell."""
    command = [sys.executable, "-m", "unum_emulator.shell"]
    shell = os.environ | {"SHELL": "/bin/sh"}
    with subprocess.Popen(  # noqa: S603 - written above
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=shell, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            lines = iter(process.stderr)
            port, token = next(found[0] for line in lines if (found := re.findall(r":(\d+)/\?token=(\S+)", line)))
            visitor = Visitor(Site(Directory(dict), Secrets(int(port), token=token))).enter()
            assert visitor.ask("/").status == 200
        finally:
            process.stdin.write("exit 3\n")
            process.stdin.close()
            process.wait(60)
        assert process.returncode == 3
    with pytest.raises(ConnectionRefusedError):
        visitor.ask("/")


def test_a_deployed_workflow_on_the_page(deployment: Deployment) -> None:
    client = deployment.client("Callbacks")
    path = f"/Callbacks/{client.workflow}"
    with page("--allow-changes") as visitor:
        assert f'href="{path}/"' in visitor.ask("/").text
        form = visitor.ask(f"{path}/start").text
        csrf = re.findall(r'name="csrf" value="([^"]+)"', form)[0]
        given = '{"case": "ask", "question": "page"}'
        assert "started at" in visitor.send(f"{path}/start", csrf=csrf, name="page", input=given).words
        execution = f"{path}/executions/page"
        until(lambda: "waiting for an answer" in visitor.ask(execution).words)
        assert "page" in re.findall(rf'href="{path}/executions/([^"]+)"', visitor.ask(f"{path}/?status=RUNNING").text)
        assert "Stopped at" in visitor.send(f"{execution}/stop", csrf=csrf, cause="seen").words
        assert client.describe("page").status is Status.ABORTED
        assert "seen" in visitor.ask(execution).words
        assert "No change." in visitor.ask(f"{path}/versions?old=page").words
        assert "Deleted at" in visitor.send(f"{execution}/delete", csrf=csrf, confirm="page").words


def test_the_lines_of_a_step_on_the_page(deployment: Deployment) -> None:
    client = deployment.client("IotPipeline")
    ended = client.run(
        {"room": "library", "comfort": {"from": 19.0, "to": 24.0}, "readings": [{"sensor": "door", "celsius": 21.5}]}
    )
    with page("--stack", "IotPipeline") as visitor:
        execution = visitor.ask(f"/IotPipeline/{client.workflow}/executions/{ended.name}").text
        step = unescape(re.findall(r'href="([^"]+/step\?key=[^"]+)"', execution)[0])
        (logs,) = re.findall(r'href="([^"]+/logs\?key=[^"]+)"', visitor.ask(step).text)
        until(lambda: "START RequestId" in visitor.ask(unescape(logs)).words)
        shown = visitor.ask(unescape(logs)).words
        assert shown.count("START RequestId") == 1, shown  # the log stream has those of other executions too
