"""Processor time and size of an app's synthesis with a workflow, beside the same app with a `StateMachine`.

    python benchmarks/synth.py [--json] [--runs 3]

Both apps have a chain of `LambdaInvoke` states with a function for each, and differ in the construct and the class of
the functions alone. A run is a process: its figure is the processor time of Python and of the CDK's process, from start
to end. Kinds alternate, so that other load on the machine affects both. The least of the runs counts.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NODES = (10, 50)
RUNS = 3
KINDS = ("state machine", "workflow")


def main() -> None:
    """Measure and print, or synthesize one app."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs per app (default: {RUNS})")
    parser.add_argument("--app", nargs=3, metavar=("KIND", "NODES", "FOLDER"), help="synthesize one app instead")
    options = parser.parse_args()
    if options.app is not None:
        kind, nodes, folder = options.app
        synthesize(kind, int(nodes), folder)
        return
    found = [*measure(options.runs)]
    print(json.dumps(found) if options.json else "\n".join(map(_line, found)))


def measure(runs: int = RUNS) -> Iterator[dict[str, Any]]:
    """Yield the figures of both apps for each number of nodes."""
    for nodes in NODES:
        spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
        sizes: dict[str, dict[str, int]] = {}
        for _ in range(runs):
            for kind in KINDS:
                seconds, sizes[kind] = _run(kind, nodes)
                spent[kind].append(seconds)
        least = {kind: min(each) for kind, each in spent.items()}
        yield {
            "nodes": nodes,
            "processor_s": {kind: round(each, 2) for kind, each in least.items()},
            "ratio": round(least["workflow"] / least["state machine"], 3),
            "sizes": sizes,
        }


def _run(kind: str, nodes: int) -> tuple[float, dict[str, int]]:
    """Synthesize an app in a process of its own; return its processor time in seconds, and its template's size."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__)), "--app", kind, str(nodes), folder]
        process = os.posix_spawn(sys.executable, command, os.environ)
        # The usage includes that of the CDK's process, for which jsii waits.
        _, status, usage = os.wait4(process, 0)
        if status:
            raise RuntimeError(f"{command}: exit status {status}")
        template = json.loads((Path(folder) / "Stack.template.json").read_text(encoding="utf-8"))
    size = {"resources": len(template["Resources"]), "template_bytes": len(json.dumps(template, separators=(",", ":")))}
    return usage.ru_utime + usage.ru_stime, size


def synthesize(kind: str, nodes: int, folder: str) -> None:
    """Write the assembly of the app with `nodes` functions to `folder`."""
    # Imported in the process that is measured: a state machine's app imports no workflows.
    from aws_cdk import App, Stack  # noqa: PLC0415 - see above
    from aws_cdk import aws_lambda as lambda_  # noqa: PLC0415 - see above
    from aws_cdk import aws_stepfunctions as sfn  # noqa: PLC0415 - see above
    from aws_cdk import aws_stepfunctions_tasks as tasks  # noqa: PLC0415 - see above

    app = App(outdir=folder, analytics_reporting=False)
    stack = Stack(app, "Stack")
    make = _function_of(kind)
    code = lambda_.Code.from_inline("def handle(event, context): return event")
    states = [
        tasks.LambdaInvoke(
            stack,
            f"State{number}",
            lambda_function=make(
                stack, f"F{number}", code=code, handler="index.handle", runtime=lambda_.Runtime.PYTHON_3_13
            ),
            output_path="$.Payload",
        )
        for number in range(nodes)
    ]
    chain = sfn.Chain.start(states[0])
    for state in states[1:]:
        chain = chain.next(state)
    body = sfn.DefinitionBody.from_chainable(chain)
    if kind == "workflow":
        from unum_constructs import UnumWorkflow  # noqa: PLC0415 - see above

        UnumWorkflow(stack, "Flow", definition_body=body)
    else:
        sfn.StateMachine(stack, "Flow", definition_body=body)
    app.synth()


def _function_of(kind: str) -> Any:
    if kind == "workflow":
        from unum_constructs import UnumFunction  # noqa: PLC0415 - see above

        return UnumFunction
    from aws_cdk import aws_lambda as lambda_  # noqa: PLC0415 - see above

    return lambda_.Function


def _line(row: dict[str, Any]) -> str:
    spent = ", ".join(f"{kind} {seconds} s" for kind, seconds in row["processor_s"].items())
    sizes = "; ".join(
        f"{kind}: {size['resources']} resources, {size['template_bytes']:,} bytes"
        for kind, size in row["sizes"].items()
    )
    return f"{row['nodes']} nodes: {spent}, ratio {row['ratio']}; {sizes}"


if __name__ == "__main__":
    main()
