"""Facts about the original in a fork's copy of a commit: its version, and the end before a redrive."""

import pytest

from tests.unit.protocol.platform import chain
from unum_compiler import compile_workflow
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Checkpoint, Ending, Failure, Outcome, Phase, Status, Success
from unum_runtime.model.naming import Execution, Name
from unum_runtime.protocol.history.past import as_it_was, past_digest, past_of

CURRENT = compile_workflow(chain("A"), name="w", functions=["A"])


def commit(digest: str, outcome: Outcome | None = None) -> Checkpoint:
    """Return a commit of version `digest`; with `outcome` the end of its execution."""
    status = Status.SUCCEEDED if isinstance(outcome, Success) else Status.FAILED
    return Checkpoint(
        name=Name(Execution("e", 1), (), 1),
        state="A",
        phase=Phase.LEFT,
        outcome=Success(1),
        digest=digest,
        committed_ms=1,
        ending=None if outcome is None else Ending(status, outcome),
    )


@pytest.mark.parametrize(
    ("digest", "outcome", "ending"),
    [
        ("another", None, None),
        ("another", Failure("E", "why"), Ending(Status.FAILED, Failure("E", "why"))),
        ("another", Failure("E", None), Ending(Status.FAILED, Failure("E", None))),
        ("another", Success(2), None),
        (CURRENT.digest, Failure("E", "why"), Ending(Status.FAILED, Failure("E", "why"))),
    ],
)
def test_a_copy_tells_the_version_and_the_end_of_its_original(
    digest: str, outcome: Outcome | None, ending: Ending | None
) -> None:
    past = past_of(commit(digest, outcome), CURRENT)
    copy = replace(commit(CURRENT.digest), past=past)
    found = as_it_was(copy)
    assert (past_digest(copy), found.digest, found.ending) == (digest, digest, ending)


def test_a_copy_of_a_copy_tells_of_the_first_original() -> None:
    first = past_of(commit("first", Failure("E", "why")), CURRENT)
    second = replace(commit("second"), past=first)
    assert past_of(second, CURRENT) == first


def test_of_a_commit_of_the_same_version_nothing_is_told() -> None:
    copy = commit(CURRENT.digest)
    assert (past_of(copy, CURRENT), past_digest(copy), as_it_was(copy)) == ("", "", copy)
