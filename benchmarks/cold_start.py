"""Cost of the runtime at a cold start, under AWS's own runtime client for Python.

    python benchmarks/cold_start.py [--json] [--runs 21]

A run is a process of the emulator's interpreter, from its creation to the start of user code, if it has any, and to its
first request for an event. Service endpoints close each connection at once: a run pays only for the work before the
first byte. Kinds of functions alternate, so that other load on the machine affects all of them.
"""

import argparse
import io
import json
import os
import re
import resource
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from unum_compiler import compile_workflow
from unum_constructs.layer.bytecode import this_python
from unum_constructs.layer.content import (
    IN_CODE,
    IN_LAYER,
    Content,
    Place,
    compilable_modules,
    deployed_files,
    layer_content,
    runtime_content,
    runtime_folder,
)
from unum_constructs.layer.features import LayerFacts, unused_by_own_functions
from unum_constructs.layer.interpreters import compile_modules

PYTHON = Path(__file__).parents[1] / "emulator" / ".venv" / "bin" / "python"
MACHINE = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "a", "End": True}}}
WORKFLOW = "Flow"
FUNCTION = "import os, time\nos.write({pipe}, b'%d' % time.time_ns())\ndef handle(event, context): pass\n"
BOTO3 = "import boto3\nfor name in ('dynamodb', 'lambda'): boto3.client(name)\n"
OPERATED = {
    "UNUM_CONTROL": "arn:aws:lambda:us-east-1:123456789012:function:control",
    "UNUM_DIRECTORY": "directory",
    "UNUM_INTAKE": "arn:aws:lambda:us-east-1:123456789012:function:intake:1",
    "UNUM_LETTERS": "https://sqs.us-east-1.amazonaws.com/123456789012/letters",
    "UNUM_MAX_RECEIVES": "10",
    "UNUM_METRICS": "workflow",
    "UNUM_SENDERS": '{"workflow": "Flow", "trusted": {}, "edges": {}}',
    "UNUM_TIMER": "https://sqs.us-east-1.amazonaws.com/123456789012/timer",
}
"""Environment of functions that a workflow makes for itself."""
SLOWEST_MODULES = 15
RUNS = 21
"""Starts per kind."""


class Kind(NamedTuple):
    """A kind of function: its layer, its code's first lines, its environment, and its handler for other than Tasks."""

    layer: str | None = None
    prelude: str = ""
    environment: Mapping[str, str] = {}
    handler: str | None = None


BARE, WITH_BOTO3 = "no layer", "no layer, two clients of boto3"
KINDS = {
    BARE: Kind(),
    WITH_BOTO3: Kind(prelude=BOTO3),
    "layer": Kind("compiled"),
    "layer for another Python": Kind("sources"),
    "layer, UNUM_CLIENT=botocore": Kind("compiled", environment={"UNUM_CLIENT": "botocore"}),
    "control function": Kind(handler="unum_runtime.control.handle"),
    "failure handler": Kind(handler="unum_runtime.failure_handler.handle"),
    "forwarder": Kind(handler="unum_runtime.aws.forwarder.handle"),
}


class Start(NamedTuple):
    """Milliseconds from the process's creation to user code, and to the first request for an event.

    Functions without user code have the second in place of the first. `cpu_ms` is the processor time of the whole
    start, which depends less on other load.
    """

    user_code_ms: float
    ready_ms: float
    cpu_ms: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs per kind (default: 21)")
    options = parser.parse_args()
    found = measure(options.runs)
    print(json.dumps(found, indent=2) if options.json else "\n".join(table(found)))


def measure(runs: int = RUNS) -> dict[str, Any]:
    """Return medians and their differences to starts without the layer, the layer's size, and its slowest modules.

    `of_boto3` is the added time until user code begins, as a share of boto3's addition to a function without the layer.
    It depends less on the machine than durations do.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _measure(Path(folder), runs)


def _measure(folder: Path, runs: int) -> dict[str, Any]:
    facts = LayerFacts(compile_workflow(MACHINE, name=WORKFLOW, functions=None))
    content = layer_content(facts, runtime_folder())
    packed = {"layer, sources": deployed_files(content, {}), "layer, bytecode": _compiled(content, IN_LAYER)}
    _write(packed["layer, sources"], folder / "sources")
    _write(packed["layer, bytecode"], folder / "compiled")
    for name, handler in ((name, kind.handler) for name, kind in KINDS.items() if kind.handler):
        own = runtime_content(unused_by_own_functions(facts), runtime_folder(), [handler])
        packed[name] = _compiled(own, IN_CODE)
        _write(packed[name], folder / handler)
    (folder / "function").mkdir()
    starts: dict[str, list[Start]] = {name: [] for name in KINDS}
    for _ in range(runs):
        for name, kind in KINDS.items():
            starts[name].append(measure_start(folder, kind))
    medians = {name: Start(*map(statistics.median, zip(*each, strict=True))) for name, each in starts.items()}
    # Differences to the bare function exclude the interpreter's and the runtime client's own start.
    bare = medians[BARE]
    boto3_ms = medians[WITH_BOTO3].ready_ms - bare.ready_ms
    return {
        "starts": {
            name: {
                **each._asdict(),
                "added_until_user_code_ms": each.user_code_ms - bare.user_code_ms,
                "of_boto3": (each.user_code_ms - bare.user_code_ms) / boto3_ms,
                "added_ms": each.ready_ms - bare.ready_ms,
                "added_cpu_ms": each.cpu_ms - bare.cpu_ms,
            }
            for name, each in medians.items()
        },
        "zipped_kb": {name: _zipped_kb(files) for name, files in packed.items()},
        "modules_ms": modules(folder),
    }


def measure_start(folder: Path, kind: Kind) -> Start:
    """Measure one start of a function of `kind`."""
    readable, writable = os.pipe()
    (folder / "function" / "code_of_user.py").write_text(kind.prelude + FUNCTION.format(pipe=writable))
    handler = kind.handler or ("unum_runtime.handler.handle" if kind.layer else "code_of_user.handle")
    program = f"from awslambdaric.__main__ import main; main(['awslambdaric', '{handler}'])"
    with socket.create_server(("127.0.0.1", 0)) as runtime_api, closing_server() as services:
        environment = _environment(folder, kind, runtime_api.getsockname()[1], services)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The wall clock: the child process reads the same one, while other clocks may differ between
        # processes.
        began_ns = time.time_ns()
        process = subprocess.Popen([PYTHON, "-S", "-c", program], env=environment, pass_fds=[writable])  # noqa: S603 - ours
        asked, _ = runtime_api.accept()
        ready_ns = time.time_ns()
        # The first request for an event ends the start; no event ever arrives.
        process.kill()
        process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        asked.close()
    os.close(writable)
    with os.fdopen(readable) as messages:
        user_code_ms, ready_ms = (int(messages.read() or ready_ns) - began_ns) / 1e6, (ready_ns - began_ns) / 1e6
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Start(user_code_ms, ready_ms, cpu_s * 1000)


@contextmanager
def closing_server() -> Iterator[int]:
    """Yield the port of a server that closes each connection at once."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_hang_up, args=[listener])
        thread.start()
        yield listener.getsockname()[1]
        # Wakes the thread from `accept`; `close` alone would not.
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _hang_up(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            listener.accept()[0].close()


def _environment(folder: Path, kind: Kind, runtime_api: int, services: int) -> dict[str, str]:
    packages = next(PYTHON.parents[1].glob("lib/python*/site-packages"))
    layer = [str(folder / kind.layer / "python")] if kind.layer else []
    code = folder / (kind.handler or "function")
    service = {"table": "t", "hosts": [] if kind.handler else ["a"], "routes": {}, "retention_s": 1}
    about = {"UNUM_WORKFLOWS": json.dumps({WORKFLOW: service}), "UNUM_HANDLER": "code_of_user.handle"}
    if kind.handler:
        about = {"UNUM_WORKFLOWS": json.dumps({WORKFLOW: {**service, "definition": "entry"}}), **OPERATED}
    return {
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{runtime_api}",
        "AWS_ENDPOINT_URL": f"https://127.0.0.1:{services}",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "PYTHONDONTWRITEBYTECODE": "1",  # as on Lambda, whose file system is read-only
        "PYTHONPATH": os.pathsep.join([str(code), *layer, str(packages)]),
        **(about if kind.layer or kind.handler else {}),
        **kind.environment,
    }


def modules(folder: Path) -> dict[str, float]:
    """Return the slowest modules to import, in ms without their own imports: medians of 5 processes."""
    times: dict[str, list[float]] = {}
    command = [
        PYTHON,
        "-S",
        "-X",
        "importtime",
        "-c",
        "import awslambdaric.bootstrap, unum_runtime.functions.task_function",
    ]
    environment = _environment(folder, KINDS["layer"], 0, 0)
    # Without these, the import runs no user code, so only the layer's modules count.
    del environment["UNUM_WORKFLOWS"], environment["UNUM_HANDLER"]
    for _ in range(5):
        report = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr  # noqa: S603
        *_, report = report.partition("awslambdaric.bootstrap")
        for own_us, name in re.findall(r"import time: +(\d+) \| +\d+ \| +(\S+)", report):
            times.setdefault(name, []).append(int(own_us) / 1000)
    medians = {name: statistics.median(each) for name, each in times.items()}
    return dict(sorted(medians.items(), key=lambda item: -item[1])[:SLOWEST_MODULES])


def table(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield readable lines for `found`."""
    yield f"{'ms':32}user code    added of boto3    ready    added      cpu    added"
    for name, start in found["starts"].items():
        yield (
            f"{name:32}{start['user_code_ms']:9.1f}{start['added_until_user_code_ms']:9.1f}{start['of_boto3']:9.2f}"
            f"{start['ready_ms']:9.1f}{start['added_ms']:9.1f}{start['cpu_ms']:9.1f}{start['added_cpu_ms']:9.1f}"
        )
    yield from ["", *(f"{name}: {kb:.0f} KB zipped" for name, kb in found["zipped_kb"].items()), ""]
    yield from (f"{ms:6.1f} ms {name}" for name, ms in found["modules_ms"].items())


def _compiled(content: Content, place: Place) -> Content:
    return deployed_files(content, compile_modules(compilable_modules(content, place), str(this_python())), place)


def _write(content: Content, folder: Path) -> None:
    for path, data in content.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def _zipped_kb(content: Content) -> float:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in content.items():
            archive.writestr(path, data)
    return len(zipped.getvalue()) / 1000


if __name__ == "__main__":
    main()
