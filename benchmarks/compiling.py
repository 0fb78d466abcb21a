"""Cost of a definition at synth time: compilation, and the CDK stack around it.

python benchmarks/compiling.py [--json]

Exact figures are the stack's resources, the template's size, and the number of calls to the CDK's process. Durations
are per state and per node.
"""

import argparse
import gc
import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_
from jsii._kernel.providers import process
from timing import microseconds

from unum_compiler import compile_workflow
from unum_constructs import Definition, UnumFunction, UnumWorkflow

STATES = (10, 100, 1_000)
TARGET_MS = 0.5
STACKS = ((10, 10), (50, 50), (200, 20))
"""(nodes, functions): limits on a stack's resources and a function's environment keep functions below 70."""

_CODE = str(Path(__file__).parents[1] / "examples" / "word_count" / "functions" / "sum")


def compilations() -> Iterator[dict[str, float]]:
    """Yield compilation times for several definition sizes, in milliseconds."""
    for count in STATES:
        definition = _definition(count)
        compiling = partial(compile_workflow, definition, name="w", functions=None)
        # Fewer repetitions of large definitions, whose single compilation is long enough to time.
        took_us = microseconds(compiling, visits=max(1, 20 // count))
        yield {"states": count, "ms": took_us / 1000, "ms_per_state": took_us / 1000 / count}


def stacks(sizes: Sequence[tuple[int, int]] = STACKS) -> Iterator[dict[str, float]]:
    """Yield figures for several stack sizes, after an uncounted stack that starts the CDK."""
    # The first stack pays for the start of the CDK's process.
    _stack(2, 2)
    for nodes, functions in sizes:
        began, calls = time.perf_counter(), _Calls()
        gc.disable()  # freed objects call the CDK's process too, at any time
        with calls:
            template = _stack(nodes, functions)
        took_s = time.perf_counter() - began
        gc.enable()
        yield {
            "nodes": nodes,
            "functions": functions,
            "seconds": took_s,
            "ms_per_node": took_s * 1000 / nodes,
            "resources": len(template["Resources"]),
            "template_bytes": len(json.dumps(template, separators=(",", ":"))),
            "jsii_calls": calls.count,
        }


class _Calls:
    """Context manager that counts calls to the CDK's process."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self._send = send = process._NodeProcess.send  # noqa: SLF001 - no public function counts them

        def counted(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            return send(*arguments, **options)

        process._NodeProcess.send = counted  # type: ignore[method-assign]  # noqa: SLF001 - the same

    def __exit__(self, *_: object) -> None:
        process._NodeProcess.send = self._send  # type: ignore[method-assign]  # noqa: SLF001 - the same


def _stack(nodes: int, hosts: int) -> dict[str, Any]:
    """Return the template of a chain with `nodes` nodes in `hosts` functions."""
    with TemporaryDirectory() as folder:
        app = App(outdir=folder)
        stack = Stack(app, "Stack")
        functions = {f"F{number}": _function(stack, f"F{number}") for number in range(hosts)}
        UnumWorkflow(
            stack, "Workflow", definition=Definition.from_asl(_chain(nodes, nodes // hosts)), functions=functions
        )
        template: dict[str, Any] = app.synth().get_stack_by_name("Stack").template
        return template


def _function(stack: Stack, name: str) -> UnumFunction:
    code = lambda_.Code.from_asset(_CODE, exclude=["__pycache__"])
    return UnumFunction(stack, name, handler="handler.handle", code=code)


def _definition(states: int) -> dict[str, Any]:
    """Return a definition with a cycle of Tasks with data flow, Choices and Passes."""
    names = [f"State{number}" for number in range(states)]
    pairs = list(pairwise([*names, "Done"]))
    table = {name: _state(number, name, after) for number, (name, after) in enumerate(pairs[:-1])}
    return {"StartAt": names[0], "States": {**table, pairs[-1][0]: {"Type": "Succeed"}}}


def _state(number: int, name: str, following: str) -> dict[str, Any]:
    match number % 3:
        case 0:
            parameters = {"id.$": "$.order.id", "items.$": "$.order.items[*].sku", "name.$": "$$.Execution.Name"}
            retry = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}]
            task = {"Type": "Task", "Resource": name, "Parameters": parameters, "Retry": retry}
            return task | {"ResultPath": "$.result", "Next": following}
        case 1:
            rule = {"Variable": "$.result.count", "NumericGreaterThan": number, "Next": following}
            return {"Type": "Choice", "Choices": [rule], "Default": following}
    return {"Type": "Pass", "Parameters": {"order.$": "$.order"}, "Next": following}


def _chain(nodes: int, share: int) -> dict[str, Any]:
    """Return a chain of Tasks, in which `share` neighbours have the same function."""
    states: dict[str, Any] = {
        f"Node{number}": {"Type": "Task", "Resource": f"F{number // share}", "Next": f"Node{number + 1}"}
        for number in range(nodes)
    }
    return {"StartAt": "Node0", "States": {**states, f"Node{nodes}": {"Type": "Succeed"}}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    found = {"compilations": list(compilations()), "stacks": list(stacks())}
    if parser.parse_args().json:
        print(json.dumps(found))
        return
    for rows in found.values():
        for row in rows:
            print("  ".join(f"{name} {value:,.6g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
