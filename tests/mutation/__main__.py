# ruff: noqa: T201 - a command prints
"""Try mutants: `python -m tests.mutation --number 300 --seed 1`; all of them without `--number`.

Writes a line for each verdict to `out/mutation/verdicts.jsonl` and the score to `score.json` beside it, and prints the
survivors without an explanation. Ends with 1 if the whole interval of the score is below the goal, too many mutants are
called equivalent, a survivor of a whole trial is not explained, or an explained mutant is killed or gone.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.mutation.killers import write_killers
from tests.mutation.mutants import ROOT, Mutant, all_mutants, sample
from tests.mutation.reach import TESTS, Reach, existing
from tests.mutation.report import OUT, report
from tests.mutation.trial import PYTEST, Trial, Verdict


def main() -> int:
    """Try the mutants that the options ask for, and tell the shell whether the tests are good enough."""
    options = _parser().parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    everything = tuple(each for each in all_mutants() if each.module.startswith(options.module))
    chosen = sample(everything, options.number or len(everything), options.seed)
    reach = Reach.of(json.loads(_measured(options.reach).read_text(encoding="utf-8")), options.budget)
    verdicts = _try(chosen, reach, options)
    if options.keep_killers:
        write_killers(verdicts)
    return report(verdicts, everything, is_whole=len(verdicts) == len(everything) == len(all_mutants()))


def _measured(given: Path | None) -> Path:
    """Return the file that says which tests reach which lines; measure it unless it is given."""
    if given:
        return given
    path = OUT / "reach.json"
    print("measuring which tests reach which lines ...", flush=True)
    command = [sys.executable, "-m", "tests.mutation.reach", str(path), *TESTS]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
    return path


def _try(chosen: Sequence[Mutant], reach: Reach, options: argparse.Namespace) -> list[Verdict]:
    verdicts: list[Verdict] = []
    screen = os.fdopen(os.dup(1), "w")
    with (OUT / "verdicts.jsonl").open("w", encoding="utf-8") as lines:

        def note(mutant: Mutant, verdict: Verdict) -> None:
            reach.learn(mutant, verdict)
            verdicts.append(verdict)
            lines.write(json.dumps(asdict(verdict), ensure_ascii=False) + "\n")
            lines.flush()
            if not verdict.is_dead:
                print(f"{len(verdicts)}/{len(chosen)} {verdict.fate} {verdict.mutant}", file=screen, flush=True)

        end_s = time.monotonic() + options.minutes * 60
        trial = Trial(chosen, reach.choose, note, options.jobs, end_s)
        pytest.main([*PYTEST, *existing(TESTS)], plugins=[trial])
    return verdicts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--number", type=int, default=0, help="how many mutants; all without it")
    parser.add_argument("--seed", default="unum", help="which ones")
    parser.add_argument("--module", default="", help="only modules whose path begins like this, e.g. protocol/control")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants at a time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no mutant after this time")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds that one mutant's tests may take")
    parser.add_argument("--keep-killers", action="store_true", help="let `make test` try these mutants")
    parser.add_argument("--reach", type=Path, help="a file of an earlier trial, instead of a new measurement")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
