# ruff: noqa: T201 - a command prints
"""Try mutants: `python -m tests.mutation --number 300 --seed 1`; all of them without `--number`.

Keeps every result in `out/mutation/results.jsonl`, and takes a kept result while its code and tests are the same. So a
trial of all mutants can be stopped at any time, or by `--minutes`, and continues where it was. Mutants are tried in the
order of a hash: what was tried so far is a sample.

Writes the score of mutmut's operators to `score.json` beside the results, that of the others to `further.json`. Prints
the survivors without an explanation. Ends with 1 if the whole interval of the score is below the goal, too many mutants
are called equivalent, a survivor is not explained, or an explained mutant is killed or gone.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.mutation.killers import write_killers
from tests.mutation.mutants import ROOT, Mutant, all_mutants, of_kind, sample
from tests.mutation.operators import FURTHER, MEANING, MUTMUT
from tests.mutation.reach import BUDGET_S, TESTS, Reach, existing, sources
from tests.mutation.report import OUT, report
from tests.mutation.results import Results
from tests.mutation.trial import PYTEST, Trial, Verdict


def main() -> int:
    """Try the mutants that the options ask for, and tell the shell whether the tests are good enough."""
    options = _parser().parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    everything = of_kind(tuple(each for each in all_mutants() if each.module.startswith(options.module)), options.kind)
    chosen = sample(everything, options.number or len(everything), options.seed)
    reach = Reach.of(json.loads(_measured(options.reach).read_text(encoding="utf-8")), options.budget)
    verdicts = _try(chosen, reach, options)
    if options.keep_killers:
        write_killers(verdicts)
    return report(verdicts, everything)


def _measured(given: Path | None) -> Path:
    """Return the file that says which tests reach which lines; measure it unless it is given, or still right."""
    path = given or OUT / "reach.json"
    if given or (path.exists() and json.loads(path.read_text(encoding="utf-8")).get("sources") == sources()):
        return path
    print("measuring which tests reach which lines ...", flush=True)
    command = [sys.executable, "-m", "tests.mutation.reach", str(path), *TESTS]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
    return path


def _try(chosen: Sequence[Mutant], reach: Reach, options: argparse.Namespace) -> list[Verdict]:
    """Return the verdicts of `chosen`, those that are known first."""
    results = Results(OUT / "results.jsonl")
    verdicts: list[Verdict] = []
    left: list[Mutant] = []
    for mutant in chosen:
        known = None if options.anew else results.known(mutant, reach.reaching(mutant), of_same_code=options.same_code)
        if known is None or (options.survivors and not known.is_dead):
            left.append(mutant)
        else:
            reach.learn(mutant, known)
            verdicts.append(known)
    print(f"{len(verdicts)} of {len(chosen)} are known", flush=True)
    left.sort(key=lambda mutant: results.is_tried(mutant) + bool(results.killer(mutant)))  # the killed ones last
    screen = os.fdopen(os.dup(1), "w")

    def note(mutant: Mutant, verdict: Verdict) -> None:
        reach.learn(mutant, verdict)
        results.add(mutant, verdict, reach.reaching(mutant))
        verdicts.append(verdict)
        if not verdict.is_dead:
            print(f"{len(verdicts)}/{len(chosen)} {verdict.fate} {verdict.mutant}", file=screen, flush=True)

    def choose(mutant: Mutant, collected: Mapping[str, pytest.Item]) -> list[str]:
        return reach.choose(mutant, collected, results.killer(mutant))

    if left:
        end_s = time.monotonic() + options.minutes * 60
        trial = Trial(left, choose, note, options.jobs, end_s, reach.seconds)
        pytest.main([*PYTEST, *existing(TESTS)], plugins=[trial])
    return verdicts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--number", type=int, default=0, help="how many mutants; all without it")
    parser.add_argument("--seed", default="unum", help="which ones")
    parser.add_argument("--module", default="", help="only modules whose path begins like this, e.g. protocol/control")
    parser.add_argument(
        "--kind", default="", choices=("", MUTMUT, FURTHER, *MEANING), help="only mutants of this kind; all without it"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants at a time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no mutant after this time")
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds that one mutant's tests may take")
    parser.add_argument("--anew", action="store_true", help="use no kept result")
    parser.add_argument("--survivors", action="store_true", help="try kept survivors, reached or not, again")
    parser.add_argument(
        "--same-code", action="store_true", help="use kept results of unchanged functions, tested or not"
    )
    parser.add_argument("--keep-killers", action="store_true", help="let `make test` try these mutants")
    parser.add_argument("--reach", type=Path, help="a file of an earlier trial, instead of a new measurement")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
