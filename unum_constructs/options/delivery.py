"""Delivery of events to functions."""

from dataclasses import dataclass

from aws_cdk import Duration
from constructs import Construct

from unum_constructs.cdk.argument_checks import check_types, checked_range, whole_seconds
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import DeliveryLimits
from unum_runtime.model.ir import Collection

EVENT_AGE_S = range(60, 6 * 3600 + 1)
"""Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig, MaximumEventAgeInSeconds."""

ATTEMPTS = range(3)
"""Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig, MaximumRetryAttempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Delivery of events to the functions of a workflow.

    Attributes:
        max_event_age: longest time that Lambda retries an event, 1 minute to 6 hours. Default: 6 hours.
        retry_attempts: retries by Lambda after a failed delivery, 0 to 2. Default: 2.
        fusion: True lets a function run the next Task in the same sandbox, without an invocation, if that Task belongs
            to the same function and enough time remains. Default: True with ``Collection.TTL``; impossible with
            ``Collection.EAGER``.
    """

    max_event_age: Duration | None = None
    retry_attempts: int | None = None
    fusion: bool | None = None

    def limits(self, workflow: Construct) -> DeliveryLimits:
        """Return the limits of Lambda's retries.

        Raises:
            ConstructError: Lambda does not allow a value.
        """
        option = "delivery.max_event_age"
        age_s = None if self.max_event_age is None else whole_seconds(workflow, option, self.max_event_age)
        return DeliveryLimits(
            checked_range(workflow, option, age_s, EVENT_AGE_S, " s"),
            checked_range(workflow, "delivery.retry_attempts", self.retry_attempts, ATTEMPTS),
        )

    def fuses(self, workflow: Construct, collection: Collection) -> bool:
        """Return True if functions continue with their own Tasks without an invocation.

        Raises:
            ConstructError: `fusion` is no bool, or contradicts `collection`: eager collection deletes an outcome as
                soon as its successor event is sent, and fusion sends none.
        """
        check_types(workflow, bool, {"delivery.fusion": self.fusion})
        if self.fusion and collection is Collection.EAGER:
            raise ConstructError(
                workflow,
                "delivery.fusion: expected None or False with collection=Collection.EAGER, got True: eager collection "
                "needs a successor event, and fusion sends none; remove one of both",
            )
        return collection is Collection.TTL if self.fusion is None else self.fusion
