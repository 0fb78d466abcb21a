# ruff: noqa: T201 - a command prints
"""Try the sample of `killers.json`: `python -m tests.mutation.try_sample`."""

from tests.mutation.killers import try_sample
from tests.mutation.mutants import all_mutants
from tests.mutation.report import report

LEAST_TRIED = 0.5
"""Share of the sample that must still exist."""


def main() -> int:
    """Try, report, and tell the shell whether the sample refutes the goal."""
    verdicts, killers = try_sample()
    if len(verdicts) < LEAST_TRIED * len(killers):
        print(f"only {len(verdicts)} of {len(killers)} mutants exist: write killers.json anew")
        return 1
    return report(verdicts, all_mutants(), is_sample=True)


if __name__ == "__main__":
    raise SystemExit(main())
