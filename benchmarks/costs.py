"""Prices of a million executions of workflows, compared with other systems.

python benchmarks/costs.py [--json]

The original system's price comes from its measured store operations, one unit each, and its invocations.
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
from unum_runtime.model.states import Guard

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
"""Shape of the video encoder: parallel work per chunk, then a sequence, because each chunk needs its predecessor."""
ORIGINAL = {
    "chain of 5": (9, 5),
    "chain of 5 in one function": (9, 5),
    "map of 100": (605, 102),
    "map of 100, small results": (605, 102),
}
"""(units, invocations) by workload."""


@dataclass(frozen=True)
class Priced:
    """Price of a million executions of a workflow.

    Attributes:
        name: workflow and guard.
        receipt: one execution's receipt, with user code that takes no time.
        original: the original system's price for store and invocations; None without a measurement.
    """

    name: str
    receipt: Receipt
    original: float | None = None

    @property
    def usd(self) -> dict[str, float | None]:
        """US dollars by system; `requests and units` is the price here without storage and run time."""
        here = self.receipt.here()
        return {
            "requests and units": _requests_and_units(here),
            "here": total(here),
            "standard": total(self.receipt.standard()),
            "express": total(self.receipt.express()),
            "durable": total(self.receipt.durable()),
            "original": self.original,
        }


def price_all() -> Iterator[Priced]:
    """Yield every priced workflow."""
    for workload in (chain(5), in_one_function(chain(5)), map_of(100), with_small_results(map_of(100))):
        for guard in (Guard.COMMIT, Guard.READ):
            yield _price(workload.guarded(guard), guard)
    for name, folder in APPLICATIONS.items():
        definition = Definition.from_asl(read_file(str(EXAMPLES / folder / "workflow.asl.json")))
        workflow = definition.compile(folder, None)
        yield Priced(f"{name}, {Guard.READ}", estimate(workflow, amounts=Amounts(items=20)))
    excamera = Definition.from_graph(EXCAMERA).compile("excamera", None)
    receipt = estimate(excamera, amounts=Amounts(items=CHUNKS, rounds=CHUNKS))
    yield Priced(f"ExCamera, {CHUNKS} chunks, {Guard.READ}", receipt)


def _price(workload: Workload, guard: Guard) -> Priced:
    receipt = estimate(workload.workflow, functions=workload.functions, value=workload.value)
    # Store units and requests only, like `requests and units` here.
    units, invocations = ORIGINAL[workload.name]
    usd = list_prices().usd
    original = units * usd["dynamodb_write_unit"] + invocations * usd["lambda_request"]
    return Priced(f"{workload.name}, {guard}", receipt, original * MILLION)


def _requests_and_units(here: Bill) -> float:
    return sum(here[name] for name in ("requests", "queue", "store_writes", "store_reads"))


def table() -> Mapping[str, Mapping[str, float | None]]:
    """Return US dollars for a million executions, by workflow and system."""
    return {each.name: each.usd for each in price_all()}


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
