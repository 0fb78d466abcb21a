"""Demo: deploy the text-processing example to the local emulator, and run it.

It starts the emulator as a child process, bootstraps and deploys with the CDK's command line, starts the workflow with
the client, shows each step as it commits, prints the result, draws the executed graph, and destroys the stack.
Functions run in processes of their own, under AWS's runtime client. The emulator ends with this process, even after a
crash, and so does everything in it.
"""

import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

from unum_cli.commands.stack import deployed
from unum_cli.picture.draw import draw
from unum_constructs import Definition
from unum_emulator import cdk
from unum_emulator.process import Emulator, EmulatorError
from unum_runtime.client import Client, Description
from unum_runtime.client.terminal.amounts import duration_text
from unum_runtime.client.terminal.live import LiveTable
from unum_runtime.errors import UnumError
from unum_runtime.model.checkpoint import Status

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "text_processing"
STACK = "TextProcessing"
APP = f"{shlex.quote(sys.executable)} app.py"
EMULATOR_PYTHON = ROOT / "emulator" / ".venv" / "bin" / "python"
PICTURE = ROOT / "out" / "demo.svg"
LOGS = ROOT / "out" / "demo-logs"
WAIT_S = 120


class Log:
    """Progress log with elapsed seconds; a terminal shows a last line that changes in place."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun_s = time.monotonic()

    def say(self, text: str) -> None:
        """Write a permanent line."""
        self._write(f"{self._time()} {text}\n")

    def mention(self, text: str) -> None:
        """Write a line that the next one replaces; skipped without a terminal."""
        if self._stream.isatty() and text.strip():
            columns = os.get_terminal_size(self._stream.fileno()).columns
            self._write(f"{self._time()}   {text.strip()}"[: columns - 1])

    def _write(self, text: str) -> None:
        erase = "\r\x1b[2K" if self._stream.isatty() else ""
        self._stream.write(erase + text)
        self._stream.flush()

    def _time(self) -> str:
        return f"[{time.monotonic() - self._begun_s:5.1f} s]"


def main() -> int:
    """Run the demo.

    Returns:
        Exit code: 0 if the workflow succeeded, 130 after Ctrl-C.
    """
    log = Log(sys.stdout)
    shutil.rmtree(LOGS, ignore_errors=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what runs is ended in good order
    try:
        ended = _in_emulator(log)
    except KeyboardInterrupt:
        log.say("interrupted; the emulator and all that ran in it have ended")
        return 130
    except (EmulatorError, cdk.CdkError, UnumError) as error:
        log.say(f"failed, and everything was taken down: {error}")
        log.say(f"logs of the functions and the emulator: {LOGS.relative_to(ROOT)}")
        return 1
    return 0 if ended.status is Status.SUCCEEDED else 1


def _in_emulator(log: Log) -> Description:
    log.say("starting the emulator")
    with (
        Emulator(EMULATOR_PYTHON, logs=LOGS) as emulator,
        tempfile.TemporaryDirectory(prefix="unum-demo-") as scratch,
    ):
        log.say(f"emulator at {emulator.endpoint}, process {emulator.pid}")
        ended = _deploy_and_run(emulator, Path(scratch) / "cdk.out", log)
    log.say("the emulator has ended; nothing is left")
    return ended


def _deploy_and_run(emulator: Emulator, assembly: Path, log: Log) -> Description:
    log.say("bootstrapping with the CDK command line")
    cdk.bootstrap(emulator, cwd=ROOT, progress=log.mention)
    log.say(f"deploying stack {STACK} of app.py")
    outputs = cdk.deploy(emulator, [STACK], app=APP, cwd=ROOT, outdir=assembly, progress=log.mention)
    log.say("deployed")
    ended = _run(_client(emulator, outputs[STACK]), log)
    log.say(f"destroying stack {STACK}")
    cdk.destroy(emulator, [STACK], app=str(assembly), cwd=ROOT, progress=log.mention)
    return ended


def _client(emulator: Emulator, outputs: dict[str, str]) -> Client:
    # boto3 reads endpoint and credentials from the environment.
    os.environ.update({name: value for name, value in emulator.environment().items() if name.startswith("AWS_")})
    found = deployed(STACK, outputs, None)
    return Client.connect(table=found.table, workflow=found.workflow, start_alias=found.start_alias)


def _run(client: Client, log: Log) -> Description:
    post: Any = json.loads((EXAMPLE / "event.json").read_text(encoding="utf-8"))
    name = client.start(post).name
    log.say(f"started execution {name} with {json.dumps(post, ensure_ascii=False)}")
    # Steps appear as they commit: `on_step` is called while the client polls.
    table = LiveTable(sys.stdout)
    try:
        ended = client.wait(name, timeout_s=WAIT_S, on_step=table.add)
    finally:
        table.close()
    log.say(f"{ended.status}: {json.dumps(_result(ended), indent=2, ensure_ascii=False)}")
    _draw(client, ended)
    log.say(f"picture of the executed graph: {PICTURE.relative_to(ROOT)}")
    return ended


def _result(ended: Description) -> Any:
    return ended.output if ended.status is Status.SUCCEEDED else {"error": ended.error, "cause": ended.cause}


def _draw(client: Client, ended: Description) -> None:
    workflow = Definition.from_asl_file(EXAMPLE / "workflow.asl.json").compile(client.workflow, None)
    stopped_at = ended.stopped_at or ended.started_at
    lasted = duration_text(int((stopped_at - ended.started_at).total_seconds() * 1000))
    subtitle = f"execution {ended.name}, {ended.status.lower()} after {lasted}"
    PICTURE.parent.mkdir(exist_ok=True)
    svg = draw(workflow, progress=client.progress(ended.name, workflow), title="Text processing", subtitle=subtitle)
    PICTURE.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
