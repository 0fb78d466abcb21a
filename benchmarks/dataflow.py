"""Cost of data flow: a visit of a Task with all five JSONPath fields, compared with moto's interpreter.

    python benchmarks/dataflow.py [--json] [--only-ours]

moto needs packages outside this project; uv creates an environment with them, which takes a minute once.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from case import EXECUTION_NAME, INPUT, OUTPUT, PARAMETERS, RESULT, TASK
from timing import microseconds

from unum_compiler import compile_workflow
from unum_runtime.asl.languages import program
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.planning.evaluation import EvaluationContext

BUDGET_US = 60
MOTO = "moto[stepfunctions]==5.2.5"
_OURS = "unum_runtime"


def main() -> None:
    """Measure and print.

    Raises:
        SystemExit: a visit exceeds its budget, or a result is wrong.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only-ours", action="store_true", help="skip moto")
    options = parser.parse_args()
    found = measure(only_ours=options.only_ours)
    print(json.dumps(found) if options.json else table(found))
    if found[_OURS] > BUDGET_US:
        sys.exit(f"{found[_OURS]:.1f} µs; the budget for a visit is {BUDGET_US} µs")


def measure(*, only_ours: bool) -> dict[str, float]:
    """Return µs per visit, here and in moto."""
    return {_OURS: measure_ours()} | ({} if only_ours else {MOTO: measure_moto()})


def measure_ours() -> float:
    """Return µs per visit here: context object, the Task's input, its output."""
    workflow = compile_workflow({"StartAt": "Charge", "States": {"Charge": TASK}}, name="w", functions=None)
    task = program(workflow.states["Charge"])
    evaluation = EvaluationContext(workflow, Execution(EXECUTION_NAME, 0), 0, "seed")

    def visit() -> tuple[object, object]:
        parameters = task.arguments(INPUT, evaluation.context_of("Charge", retries=()))
        return parameters, task.output(INPUT, RESULT, evaluation.context_of("Charge", retries=(), part=" result")).value

    # The comparison with moto is only fair if both compute the same.
    if visit() != (PARAMETERS, OUTPUT):
        sys.exit(f"unum_runtime: expected {(PARAMETERS, OUTPUT)}, got {visit()}")
    return microseconds(visit)


def measure_moto() -> float:
    """Return µs per visit in moto."""
    uv = Path(sys.executable).with_name("uv")
    script = Path(__file__).with_name("moto_interpreter.py")
    command: list[str | Path] = [
        uv,
        "run",
        "--quiet",
        "--no-project",
        "--python",
        sys.executable,
        "--with",
        MOTO,
        "python",
        script,
    ]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own command
    return float(ran.stdout)


def table(found: Mapping[str, float]) -> str:
    """Return one line per figure."""
    head = f"{'a Task with all five fields, in JSONPath':<42}{'µs a visit':>12}{'times ours':>12}"
    rows = (f"{name:<42}{value:>12.1f}{value / found[_OURS]:>12.1f}" for name, value in found.items())
    return "\n".join([head, *rows, f"{'budget':<42}{BUDGET_US:>12}"])


if __name__ == "__main__":
    main()
