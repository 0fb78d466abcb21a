"""Demo: an execution whose functions are killed by ``kill -9`` ends right all the same, and what it costs.

It starts the emulator as a child process, deploys the text-processing example with the CDK's command line, and runs the
workflow twice: undisturbed, and while the first delivery of each event is killed. Then it compares the results, and
shows the second execution as a Gantt chart, its bill beside Step Functions' bill, and the page of `unum ui`: itself
on a terminal, else a picture of it. Functions run in processes of their own, under AWS's runtime client. The emulator
ends with this process, even after a crash, and so does everything in it.
"""

import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import boto3

from examples.demo.bills import bills
from examples.demo.gantt import gantt
from examples.demo.kills import kill_first_attempts, kills
from examples.demo.log import Log
from examples.demo.page import PageError, page, take_picture
from unum_cli.commands.stack import deployed
from unum_cli.ui.past_reading import Reading
from unum_client import Client, Description
from unum_client.terminal.live import LiveTable
from unum_compiler.cost.estimate import estimate
from unum_compiler.cost.skeleton import Amounts
from unum_constructs import Definition
from unum_emulator import cdk
from unum_emulator.process import Emulator, EmulatorError
from unum_runtime.errors import UnumError
from unum_runtime.model.checkpoint import Status

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "text_processing"
STACK = "TextProcessing"
APP = f"{shlex.quote(sys.executable)} app.py"
EMULATOR_PYTHON = ROOT / "emulator" / ".venv" / "bin" / "python"
OUT = ROOT / "out" / "demo"
LOGS, HISTORY, PICTURE = OUT / "logs", OUT / "history.jsonl", OUT / "page.png"
WAIT_S = 120
OF_ITS_OWN = ("post_id", "published_at")
"""Fields of the result that differ in each execution."""


def main() -> int:
    """Run the demo.

    Returns:
        Exit code: 0 if both executions succeeded with the same result, 130 after Ctrl-C.
    """
    log = Log(sys.stdout)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what runs is ended in good order
    try:
        is_right = _in_emulator(log)
    except KeyboardInterrupt:
        log.say("interrupted; the emulator and all that ran in it have ended")
        return 130
    except (EmulatorError, cdk.CdkError, UnumError) as error:
        log.say(f"failed, and everything was taken down: {error}")
        log.say(f"logs of the functions and the emulator: {LOGS.relative_to(ROOT)}")
        return 1
    return 0 if is_right else 1


def _in_emulator(log: Log) -> bool:
    log.say("starting the emulator")
    with (
        Emulator(EMULATOR_PYTHON, logs=LOGS, history=HISTORY) as emulator,
        tempfile.TemporaryDirectory(prefix="unum-demo-") as scratch,
    ):
        log.say(f"emulator at {emulator.endpoint}, process {emulator.pid}")
        is_right = _deploy_and_run(emulator, Path(scratch) / "cdk.out", log)
    log.say("the emulator has ended; nothing is left")
    return is_right


def _deploy_and_run(emulator: Emulator, assembly: Path, log: Log) -> bool:
    log.say("bootstrapping with the CDK command line")
    cdk.bootstrap(emulator, cwd=ROOT, progress=log.mention)
    log.say(f"deploying stack {STACK} of app.py, which is synthesized first: about half a minute")
    outputs = cdk.deploy(emulator, [STACK], app=APP, cwd=ROOT, outdir=assembly, progress=log.mention)[STACK]
    log.say("deployed")
    client = _client(emulator, outputs)
    is_right = _show(client, outputs, log)
    log.say(f"destroying stack {STACK}")
    cdk.destroy(emulator, [STACK], app=str(assembly), cwd=ROOT, progress=log.mention)
    return is_right


def _client(emulator: Emulator, outputs: dict[str, str]) -> Client:
    # boto3 reads endpoint and credentials from the environment.
    os.environ.update({name: value for name, value in emulator.environment().items() if name.startswith("AWS_")})
    found = deployed(STACK, outputs, None)
    return Client.connect(table=found.table, workflow=found.workflow, start_alias=found.start_alias)


def _show(client: Client, outputs: dict[str, str], log: Log) -> bool:
    """Run the workflow undisturbed and under kills, and show the second execution; return True if both are equal."""
    post: Any = json.loads((EXAMPLE / "event.json").read_text(encoding="utf-8"))
    calm = _run(client, "calm", post, log)
    functions = kill_first_attempts(boto3.Session(), STACK)
    log.say(f"from now on, the first delivery of each event to the {functions} functions is killed by kill -9")
    killed = _run(client, "killed", post, log)
    _tell_kills(log)
    is_right = _tell_results(calm, killed, outputs, log)
    reading = Reading.of(client, killed.name)
    if reading.levels is not None:
        log.show(gantt(reading.levels))
    _tell_costs(client, reading, log)
    _tell_page(f"/{STACK}/{client.workflow}/executions/{killed.name}", log)
    return is_right


def _run(client: Client, name: str, post: Any, log: Log) -> Description:
    client.start(post, name=name)
    log.say(f"started execution {name!r}")
    # Steps appear as they commit: `on_step` is called while the client polls.
    table = LiveTable(sys.stdout)
    try:
        ended = client.wait(name, timeout_s=WAIT_S, on_step=table.add)
    finally:
        table.close()
    result = ended.output if ended.status is Status.SUCCEEDED else {"error": ended.error, "cause": ended.cause}
    log.say(f"{ended.status}: {json.dumps(result, indent=2, ensure_ascii=False)}")
    return ended


def _tell_kills(log: Log) -> None:
    found = kills(HISTORY)
    log.say(f"kill -9 ended {len(found)} processes:")
    for (function, moment), times in Counter((each.function, each.moment) for each in found).items():
        log.say(f"  {function}: {moment}" + (f", {times} times" if times > 1 else ""))


def _tell_results(calm: Description, killed: Description, outputs: dict[str, str], log: Log) -> bool:
    posts = boto3.resource("dynamodb").Table(outputs["PostsTable"]).scan(ConsistentRead=True)["Items"]
    are_equal = calm.status is killed.status is Status.SUCCEEDED and _common(calm) == _common(killed)
    # Each execution publishes one post, however often its functions ran.
    is_right = are_equal and len(posts) == len((calm, killed))
    log.say(f"results of both executions {'are equal' if are_equal else 'DIFFER'}; posts published: {len(posts)}")
    return is_right


def _common(ended: Description) -> dict[str, Any]:
    return {name: value for name, value in ended.output.items() if name not in OF_ITS_OWN}


def _tell_costs(client: Client, reading: Reading, log: Log) -> None:
    stored = reading.receipt()
    if stored is not None:
        name = reading.description.name
        log.say(f"execution {name!r} has used {stored.invocations} invocations and {stored.writes} writes")
    workflow = Definition.from_asl_file(EXAMPLE / "workflow.asl.json").compile(client.workflow, None)
    log.show(bills(estimate(workflow, amounts=Amounts())))


def _tell_page(path: str, log: Log) -> None:
    try:
        with page(STACK) as url:
            if log.is_terminal and sys.stdin.isatty():
                log.say(f"the page of all executions, until you press Enter: {url}")
                input()
                return
            take_picture(url, path, PICTURE)
    except PageError as error:
        log.say(f"no picture of the page: {error}")
    else:
        log.say(f"picture of the page: {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
