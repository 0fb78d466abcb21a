"""Facts of a commit that its copy in a fork lacks.

A copy has the version of the fork, and no end: the end before a redrive of the original is not an end of the fork. Only
readers of the history need both.
"""

from unum_runtime.cold_start.records import replace
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import Checkpoint, Ending, Failure, Status
from unum_runtime.model.ir import Workflow


def past_of(checkpoint: Checkpoint, current: Workflow) -> str:
    """Return the facts about `checkpoint` for its copy in a fork of version `current`; empty if there are none."""
    if checkpoint.past or (checkpoint.digest == current.digest and checkpoint.ending is None):
        return checkpoint.past  # that of a fork's copy is of the first original
    ending = checkpoint.ending
    if ending is None or not isinstance(ending.outcome, Failure):
        return to_text([checkpoint.digest])
    return to_text([checkpoint.digest, ending.status, ending.outcome.error, ending.outcome.cause])


def past_digest(copy: Checkpoint) -> str:
    """Return the digest of the IR that wrote the original of `copy`; empty for a stop record, or for no copy."""
    return str(parse_json(copy.past)[0]) if copy.past else ""


def as_it_was(copy: Checkpoint) -> Checkpoint:
    """Return `copy` with the version and the end of its original."""
    if not copy.past:
        return copy
    digest, *ended = parse_json(copy.past)
    status, error, cause = ended or (None, None, None)
    return replace(copy, digest=digest, ending=Ending(Status(status), Failure(error, cause)) if status else None)
