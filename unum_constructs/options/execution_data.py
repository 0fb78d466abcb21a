"""Lifetime and place of what a workflow stores of its executions."""

from dataclasses import dataclass, replace

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from unum_compiler.payload_storage import Payload
from unum_constructs.cdk.argument_checks import check_types, checked_choice, whole_seconds
from unum_constructs.errors import ConstructError
from unum_runtime.model.envelope import EVENT_LIFE_S
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.protocol.fanout.packing import packed_tasks
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionData:
    """Lifetime and place of what a workflow stores of its executions.

    Attributes:
        retention: lifetime of execution state, more than 8 hours; an execution must end within it. Default: 7 days.
        history_retention: lifetime of everything except inputs and results of executions, more than 8 hours and at most
            `retention`; an execution must then end within it. Default: `retention`.
        collection: deletion of outcomes that can no longer be needed: ``TTL`` leaves them to DynamoDB's expiry, which
            is free; ``EAGER`` deletes them at once.
        payload: storage of values that exceed a table item: `Payload.AUTO`, `S3` or `INLINE`. Buckets outlive the
            stack; their objects expire. ``AUTO`` makes a bucket if the definition can produce such values.
        payload_bucket: bucket of your own for these values; objects below the workflow's name must live longer than
            `retention`.
        small_results: True if results of Map and Parallel branches are expected to fit in 100 bytes of JSON. A branch
            that always ends with a Task then commits and completes in one write, together with other branches in one
            item. Larger results and failures cost as much as without the option, plus one write for every 7 branches.
    """

    retention: Duration | None = None
    history_retention: Duration | None = None
    collection: Collection | str = Collection.TTL
    payload: Payload | str = Payload.AUTO
    payload_bucket: s3.IBucket | None = None
    small_results: bool = False

    def result_retention_s(self, workflow: Construct) -> int:
        """Return the lifetime of inputs and results, in seconds.

        Raises:
            ConstructError: an event could outlive the state that it refers to.
        """
        if self.retention is None:
            return DEFAULT_RETENTION_S
        return _outliving_events_s(workflow, "execution_data.retention", self.retention)

    def history_retention_s(self, workflow: Construct, result_retention_s: int) -> int:
        """Return the lifetime of everything else, in seconds. Default: `result_retention_s`.

        Raises:
            ConstructError: an event could outlive the state that it refers to, or the history would outlive the result.
        """
        if self.history_retention is None:
            return result_retention_s
        option = "execution_data.history_retention"
        seconds = _outliving_events_s(workflow, option, self.history_retention)
        if seconds > result_retention_s:
            raise ConstructError(
                workflow, f"{option}: expected at most `retention`, {result_retention_s} s, got {seconds} s"
            )
        return seconds

    def checked_collection(self, workflow: Construct) -> Collection:
        """Return the time of deletion.

        Raises:
            ConstructError: there is no such choice.
        """
        return checked_choice(workflow, "execution_data.collection", self.collection, Collection)

    def checked_small_results(self, workflow: Construct, compiled: Workflow) -> bool | None:
        """Return True or None; the IR omits False.

        Raises:
            ConstructError: no branch of `compiled` can pack small results.
        """
        if self.small_results and not packed_tasks(replace(compiled, small_results=True)):
            raise ConstructError(
                workflow,
                "execution_data.small_results: expected a Map or Parallel without a quorum, with a branch that always "
                "ends with a Task that gives out no task token and joins nothing; found none, so leave the option out",
            )
        return self.small_results or None

    def check(self, workflow: Construct) -> None:
        """Raise ConstructError unless `small_results` is a bool."""
        check_types(workflow, bool, {"execution_data.small_results": self.small_results})


def _outliving_events_s(workflow: Construct, option: str, duration: Duration) -> int:
    seconds = whole_seconds(workflow, option, duration)
    if seconds <= EVENT_LIFE_S:
        reason = "the longest life of an event; state must outlive every event that refers to it"
        raise ConstructError(workflow, f"{option}: expected more than {EVENT_LIFE_S} s, {reason}; got {seconds} s")
    return seconds
