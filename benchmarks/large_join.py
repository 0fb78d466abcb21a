"""Cost of a join of large results: time, and memory of the joining function.

python benchmarks/large_join.py [--json] [--branches 50] [--megabytes 5]

Objects are files, so this process needs as much memory as the joining function. The peak is the last delivery: the join
and the Task that receives the list. Branches need less.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workloads import map_of_texts

from unum_runtime.clock import SkippingClock
from unum_runtime.model.ir import Collection
from unum_runtime.store.large_items import LargeItems
from unum_simulator.local import LocalWorkflow
from unum_simulator.memory_store import MemoryStore

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Files:
    """Objects in a folder; see `Objects`."""

    folder: Path

    def put(self, name: str, content: bytes) -> None:
        """See `Objects.put`."""
        self._file(name).write_bytes(content)

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """See `Objects.get`."""
        return {name: self._file(name).read_bytes() for name in names if self._file(name).exists()}

    def _file(self, name: str) -> Path:
        # Object names contain slashes, and the folder has no subfolders.
        return self.folder / name.replace("/", "+")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--branches", type=int, default=50, help="number of joined results (default: 50)")
    parser.add_argument("--megabytes", type=int, default=5, help="size of each result (default: 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure_join(Path(folder), options.branches, options.megabytes)
    print(
        json.dumps(found) if options.json else "\n".join(f"{name:<20}{value:>12,.1f}" for name, value in found.items())
    )


def measure_in_new_process() -> dict[str, float]:
    """Return the figures of a separate process, whose memory no other benchmark has grown."""
    command = [sys.executable, __file__, "--json"]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
    return found


def measure_join(folder: Path, branches: int, megabytes: int) -> dict[str, float]:
    """Return the execution's duration in seconds, and the peak growth of this process in megabytes."""
    workload = map_of_texts(branches, megabytes * 1000)
    # Objects in memory would count as this process's memory; files do not.
    store = LargeItems(MemoryStore(), Files(folder), workload.workflow.name)
    before, began_s = _now_mb(), time.perf_counter()
    local = LocalWorkflow(workload.workflow, workload.functions, store, SkippingClock(), Collection.TTL)
    local.deliver("execution", workload.value)
    found = local.ending("execution").outcome
    return {
        "results, MB": branches * megabytes,
        "seconds": time.perf_counter() - began_s,
        "memory, MB": _peak_mb() - before,
        "joined": getattr(found, "value", -1),
    }


def _now_mb() -> float:
    """Return the current memory of this process; the recorded peak may come from the parent process."""
    _, pages, *_ = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(pages) * resource.getpagesize() / MEGABYTE


def _peak_mb() -> float:
    # Linux reports kilobytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


if __name__ == "__main__":
    main()
