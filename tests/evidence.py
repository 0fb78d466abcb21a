"""Write docs/evidence.md: `python -m tests.evidence`, or `make evidence`.

Measures random searches, takes the last results of `python -m tests.mutation`, `python -m tests.formal.check` and
`python -m tests.e2e.chaos` from `out/`, keeps all figures in docs/evidence.json, and renders the page from these alone.
Results that no new run replaces stay.
"""

import argparse
import json
from collections.abc import Iterator
from typing import Any

from tests.formal.check import FIGURES, MISTAKES, ROOT, SCENARIOS
from tests.mutation.operators import MEANING
from tests.mutation.report import FURTHER_SCORE, GOAL, OUT, SCORE

CHAOS = ROOT / "out" / "chaos" / "figures.json"
CHAOS_IN_S3 = ROOT / "out" / "chaos" / "s3.json"
RESULTS = ROOT / "docs" / "evidence.json"
PAGE = ROOT / "docs" / "evidence.md"

HEAD = """# Evidence

What was searched for mistakes before this release, what was found, and what all of it assumes. `make evidence` writes
this page from [measured results](evidence.json). The promises themselves: [guarantees](guarantees.md).
"""

TAIL = """## Assumptions

* The store's primitives are atomic and its reads strongly consistent, as in the contract tests, which run against
  DynamoDB in moto and in the emulator, not in AWS.
* Lambda delivers what it accepted at least once, or hands it to the failure handler. What it loses without a record
  needs the sweep.
* User code is free; only its committed outcomes count. Its side effects may happen more than once.
* The searches run the product's code. The model is another description of the protocol, with two branches, one redrive
  and one fork; the simulator replays its runs on the code.
* A search that finds nothing proves nothing about what it did not reach. Figures of samples have intervals of 95 %.

## Known violations

None in the scenarios above. Outside of them, user code may run again after its outcome was committed if a sandbox
freezes between its look at the store and the call; the first outcome stays. [Limits](limits.md) lists what is refused.
"""


def main() -> None:
    """Measure, keep the figures and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.evidence", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="random runs of each graph and fault budget; 0 for none")
    options = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if options.seeds:
        results["search"] = _search(options.seeds)
    for name, path in (
        ("mutation", OUT / SCORE),
        ("further_mutation", OUT / FURTHER_SCORE),
        ("formal", FIGURES),
        ("chaos", CHAOS),
        ("chaos_s3", CHAOS_IN_S3),
    ):
        if path.exists():
            results[name] = json.loads(path.read_text(encoding="utf-8"))
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(render(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")


def render(results: dict[str, Any]) -> str:
    """Return the page; results that are missing have no section."""
    parts = [HEAD]
    sections = {
        "search": _searched,
        "formal": _modelled,
        "chaos": _played,
        "chaos_s3": _played_in_s3,
        "mutation": _mutated,
        "further_mutation": _mutated_further,
    }
    for name, section in sections.items():
        if name in results:
            parts.append("\n".join(section(results[name])))
    return "\n".join([*parts, TAIL])


def _search(seeds: int) -> dict[str, Any]:
    # The simulator is imported for a measurement only: rendering needs none of it.
    from tests.simulation.graphs import GRAPHS  # noqa: PLC0415
    from tests.simulation.scenarios import RANDOM, scenario  # noqa: PLC0415
    from unum_simulator import search  # noqa: PLC0415

    found = [search(scenario(graph, **fields), range(seeds)) for graph in GRAPHS for fields in RANDOM.values()]
    return {
        "graphs": len(GRAPHS),
        "budgets": sorted(RANDOM),
        "seeds": seeds,
        "runs": sum(figures.ends for figures in found),
        "moves": sum(figures.moves for figures in found),
    }


def _searched(found: dict[str, Any]) -> Iterator[str]:
    yield "## Random searches of the protocol's code\n"
    yield f"Workflows: {found['graphs']}, each with the fault budgets: {'; '.join(found['budgets'])}."
    yield f"Seeds 0 to {found['seeds'] - 1}: {found['runs']:,} runs with {found['moves']:,} moves, no violation."
    yield "Exhaustive searches of smaller workflows: [guarantees](guarantees.md).\n"


def _modelled(found: dict[str, Any]) -> Iterator[str]:
    broken = [name for name, checks in found["scenarios"].items() if any(errors for _, errors in checks)]
    yield "## A formal model\n"
    yield "`tests/formal/protocol.pml` describes commit, fan-in, stop, redrive and fork in Promela. Spin visits all its"
    yield f"states. Scenarios with a broken assertion or an execution that does not end: {', '.join(broken) or 'none'}."
    yield "Two deliveries run at a time, and only one where the end is checked with a sweep, under weak fairness."
    yield "The runtime's code makes the model's writes in random runs of each scenario, and every counterexample below"
    yield "breaks it in the simulator if it has the same mistake, and only then (`tests/formal/test_replay.py`).\n"
    yield "| scenario | with | states, safety | states, end |"
    yield "|---|---|---:|---:|"
    for name, ((safe, _), (live, _)) in found["scenarios"].items():
        yield f"| {name} | {', '.join(SCENARIOS[name]).replace('=1', '').lower()} | {safe:,} | {live:,} |"
    caught = sum(errors > 0 for _, errors in found["mistakes"].values())
    yield f"\nOf {len(found['mistakes'])} planted mistakes Spin finds {caught}:\n"
    yield "| mistake | found as |"
    yield "|---|---|"
    for name in found["mistakes"]:
        yield f"| {name} | {'an execution that never ends' if MISTAKES[name].is_silent else 'a broken assertion'} |"
    yield ""


def _played(found: dict[str, Any]) -> Iterator[str]:
    yield "## A chaos run\n"
    yield "`python -m tests.e2e.chaos` plays executions with chains, Choice, Retry, Catch, Map, Parallel, Wait,"
    yield "callbacks and nested workflows in the emulator. It kills every kind of function by `kill -9`, before or"
    yield "after any of their requests to AWS, and delivers events twice, while operators stop, redrive and fork."
    yield "Nobody nudges: only the sweep looks for what stands still, every"
    yield f"{found['sweep_every_s']} s and after {found['silent_s']} s of silence in place of an hour each."
    yield "`tests/history` judges all writes, events and deliveries, and plans nothing.\n"
    yield from _ends_and_kills(found)


def _played_in_s3(found: dict[str, Any]) -> Iterator[str]:
    yield "## A chaos run with the state in S3\n"
    yield "`python -m tests.e2e.chaos --store s3` plays the same. Its history has writes of objects in place of items."
    yield f"It took {found['took_s'] / 60:.0f} minutes.\n"
    yield from _ends_and_kills(found)


def _ends_and_kills(found: dict[str, Any]) -> Iterator[str]:
    kills, asked = found["kills"], found["requests"]
    rows = {
        "executions, forks included": found["executions"],
        **{f"ended as {status}, nested ones included": number for status, number in sorted(found["ends"].items())},
        "deliveries that were killed": sum(kills.values()),
        **{f"killed in a {kind}": number for kind, number in sorted(kills.items())},
        **{f"requests for a {kind}": number for kind, number in sorted(asked.items())},
        "executions that a sweep nudged": found["nudged"],
        "failure records that became dead letters": found["letters"],
        "committed outcomes": found["commits"],
        "violations: outcomes without exactly one cause, executions without exactly one end, others": found[
            "violations"
        ],
        "wrong results": found["wrong"],
        "executions that stood still": found["still"],
    }
    yield "| | |"
    yield "|---|---:|"
    yield from (f"| {name} | {number:,} |" for name, number in rows.items())
    yield ""


def _mutated(found: dict[str, Any]) -> Iterator[str]:
    yield "## Mutants\n"
    yield f"`protocol/` and `store/` have {found['mutants']:,} mutants by the operators of mutmut: another number,"
    yield "text, comparison, operator or method; an argument left out or None; None for what is assigned or a"
    yield "lambda returns; `or` for `and`; `not` left out; one branch of `a if b else c`; a case left out. This score"
    yield "is of these operators alone."
    yield from _scored(found)


def _mutated_further(found: dict[str, Any]) -> Iterator[str]:
    yield "## Mutants of further kinds\n"
    yield f"Operators of our own, for what mutmut does not change, make {found['mutants']:,} more."
    yield from _scored(found)
    yield "| kind | change | mutants | tried | killed |"
    yield "|---|---|---:|---:|---:|"
    for kind, figures in found["kinds"].items():
        yield f"| {kind} | {MEANING[kind]} | {' | '.join(f'{number:,}' for number in figures)} |"
    yield ""


def _scored(found: dict[str, Any]) -> Iterator[str]:
    low, high = found["interval"]
    yield f"Of {found['tried']:,} tried, tests killed {found['killed']:,}: {found['score']:.1%}."
    yield f"Called equivalent: {found['equivalent']}."
    yield f"Accepted, because they change nothing that is promised: {found.get('accepted', 0)}."
    if found.get("commit"):
        yield f"Tried on the code of commit {found['commit']}."
    if found["tried"] < found["mutants"]:
        yield f"That is a sample: of all mutants between {low:.1%} and {high:.1%} would be killed."
    yield f"The goal is {GOAL:.0%}. Survivors without an explanation: {found['unexplained']}.\n"


if __name__ == "__main__":
    main()
