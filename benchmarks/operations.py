"""Exact usage of store and Lambda per execution, from the real runtime on a metered store.

python benchmarks/operations.py [--json]
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from workloads import Workload, workloads

from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Guard
from unum_simulator.metering import meter

FIGURES = ("calls", "write_units", "read_units", "moved_bytes", "invocations", "payload_bytes", "items")
OBJECT_FIGURES = ("object_writes", "object_reads", "object_bytes")
"""Additional figures of workloads with a bucket."""


@dataclass(frozen=True)
class Counted:
    """Usage of one execution.

    Attributes:
        workload: the workload's name.
        guard: guard of all Tasks.
        collection: collection policy.
        ending: status, and a failure's error name.
        figures: figures by the names of `Usage`.
    """

    workload: str
    guard: Guard
    collection: Collection
    ending: str
    figures: dict[str, int]

    @property
    def name(self) -> str:
        """Name of the figures in bounds and tables."""
        return f"{self.workload}, {self.guard}, {self.collection}"


def count_all() -> Iterator[Counted]:
    """Yield the usage of every workload under every guard and collection policy."""
    for workload, guard, collection in product(workloads(), Guard, Collection):
        yield count(workload, guard, collection)


def count(workload: Workload, guard: Guard, collection: Collection) -> Counted:
    """Execute `workload` once and return its usage."""
    given = workload.guarded(guard)
    run = meter(given.workflow, given.functions, given.value, collection=collection, by_reference=given.by_reference)
    outcome = run.ending.outcome
    ending = " ".join(filter(None, [run.ending.status, getattr(outcome, "error", None)]))
    # Without a bucket the object figures are always 0, and would only lengthen the bounds.
    names = (*FIGURES, *OBJECT_FIGURES) if given.by_reference else FIGURES
    figures = {name: getattr(run.usage, name) for name in names}
    return Counted(workload.name, guard, collection, ending, figures)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    found = list(count_all())
    if parser.parse_args().json:
        print(json.dumps({each.name: each.figures | {"ending": each.ending} for each in found}, indent=1))
        return
    print(f"{'':<34}" + "".join(f"{name:>15}" for name in FIGURES))
    for each in found:
        print(f"{each.name:<34}" + "".join(f"{each.figures[name]:>15,}" for name in FIGURES) + f"  {each.ending}")


if __name__ == "__main__":
    main()
