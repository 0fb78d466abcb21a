"""What a million executions cost, here and elsewhere.

python benchmarks/costs.py [--json]

The figures of the original system are its calls of the store, as measured: each a unit, and the same invocations.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workloads import Workload, chain, in_one_function, map_of, with_small_results

from unum_compiler import graph as g
from unum_compiler.cost.estimate import MILLION, Bill, Receipt, estimate, total
from unum_compiler.cost.prices import list_prices
from unum_compiler.cost.skeleton import Amounts
from unum_compiler.definition import Definition
from unum_compiler.frontends.files import read_file
from unum_runtime.model.ir import Guard

EXAMPLES = Path(__file__).parents[1] / "examples"
APPLICATIONS = {
    "text processing": "text_processing",
    "IoT pipeline": "iot_pipeline",
    "word count, 20 chunks": "word_count",
}
CHUNKS = 16
EXCAMERA = (
    g.task("split")
    >> g.map(g.task("encode") >> g.task("reencode"), items=g.out)
    >> g.fold(g.task("rebase"), items=g.out, initial=None)
)
"""The shape of the video encoder: each chunk by itself, then one after the other, because each needs the one before."""
ORIGINAL = {
    "chain of 5": (9, 5),
    "chain of 5 in one function": (9, 5),
    "map of 100": (605, 102),
    "map of 100, small results": (605, 102),
}
"""(units, invocations) by workload."""


@dataclass(frozen=True)
class Priced:
    """What a million executions of a workflow cost.

    Attributes:
        name: of the workflow, with the guard.
        receipt: of one execution; user code takes no time.
        original: what the original system pays for store and invocations; None where that was not measured.
    """

    name: str
    receipt: Receipt
    original: float | None = None

    @property
    def usd(self) -> dict[str, float | None]:
        """US dollars by where it runs; `requests and units` is what is paid here without storage and run time."""
        here = self.receipt.here()
        return {
            "requests and units": _requests_and_units(here),
            "here": total(here),
            "standard": total(self.receipt.standard()),
            "express": total(self.receipt.express()),
            "durable": total(self.receipt.durable()),
            "original": self.original,
        }


def priced() -> Iterator[Priced]:
    """Every workflow whose price is told."""
    for workload in (chain(5), in_one_function(chain(5)), map_of(100), with_small_results(map_of(100))):
        for guard in (Guard.COMMIT, Guard.READ):
            yield _priced(workload.guarded(guard), guard)
    for name, folder in APPLICATIONS.items():
        definition = Definition.from_asl(read_file(str(EXAMPLES / folder / "workflow.asl.json")))
        workflow = definition.compile(folder, None)
        yield Priced(f"{name}, {Guard.READ}", estimate(workflow, amounts=Amounts(items=20)))
    excamera = Definition.from_graph(EXCAMERA).compile("excamera", None)
    receipt = estimate(excamera, amounts=Amounts(items=CHUNKS, rounds=CHUNKS))
    yield Priced(f"ExCamera, {CHUNKS} chunks, {Guard.READ}", receipt)


def _priced(workload: Workload, guard: Guard) -> Priced:
    receipt = estimate(workload.workflow, functions=workload.functions, value=workload.value)
    units, invocations = ORIGINAL[workload.name]
    usd = list_prices().usd
    original = units * usd["dynamodb_write_unit"] + invocations * usd["lambda_request"]
    return Priced(f"{workload.name}, {guard}", receipt, original * MILLION)


def _requests_and_units(here: Bill) -> float:
    return sum(here[name] for name in ("requests", "queue", "store_writes", "store_reads"))


def table() -> Mapping[str, Mapping[str, float | None]]:
    """US dollars for a million executions, by workflow and by where they run."""
    return {each.name: each.usd for each in priced()}


def main() -> None:
    """Estimate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    found = table()
    if parser.parse_args().json:
        print(json.dumps(found))
        return
    for name, usd in found.items():
        print(f"{name:<30}" + "  ".join(f"{where} {value:,.2f}" for where, value in usd.items() if value is not None))


if __name__ == "__main__":
    main()
