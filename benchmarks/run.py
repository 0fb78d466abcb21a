"""All benchmarks: print the figures, and write pages with charts.

python benchmarks/run.py [--json] [--only-ours] [--output FOLDER]
"""

import argparse
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import cold_start
import costs
import dataflow
import large_join
import operations
import overhead
import report
from setting import PAGE, machine


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only-ours", action="store_true", help="skip other libraries, which need an environment")
    parser.add_argument("--output", type=Path, default=PAGE, help="folder for pages and charts")
    options = parser.parse_args()
    import latency  # noqa: PLC0415 - loads the CDK, which takes seconds

    options.output.mkdir(parents=True, exist_ok=True)
    found = measure(only_ours=options.only_ours)
    page = report.page(found)
    for name, text in {"figures.md": page, **report.charts(found)}.items():
        (options.output / name).write_text(text, encoding="utf-8")
    followed = latency.measure_in_emulator()
    pages = "\n".join([page, latency.write(followed, options.output)])
    print(json.dumps({**found.plain(), "latency": asdict(followed)}, indent=1) if options.json else pages)


def measure(*, only_ours: bool) -> report.Found:
    """Return all figures measured without the emulator."""
    import compiling  # noqa: PLC0415 - as above

    return report.Found(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=machine(),
        operations=list(operations.count_all()),
        usd=costs.table(),
        large_join=large_join.measure_in_new_process(),
        delivery_us=overhead.measure(only_ours=only_ours),
        cold_start=cold_start.measure(),
        visit_us=dataflow.measure(only_ours=only_ours),
        compilations=list(compiling.compilations()),
        stacks=list(compiling.stacks()),
    )


if __name__ == "__main__":
    main()
