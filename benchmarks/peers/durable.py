"""Steps of the durable execution SDK, on a service that accepts every checkpoint at once."""

from collections.abc import Callable
from typing import Any

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from payload import PAYLOAD
from timing import cpu_microseconds

STEPS = 10
STATUS = {"START": "STARTED", "SUCCEED": "SUCCEEDED"}
EXECUTION = {"Id": "execution", "Type": "EXECUTION", "Status": "STARTED", "ExecutionDetails": {"InputPayload": "{}"}}
EVENT: dict[str, Any] = {
    "DurableExecutionArn": "arn:aws:lambda:us-east-1:123456789012:function:f:1/durable-execution/e/1",
    "CheckpointToken": "token",
    "InitialExecutionState": {"Operations": [EXECUTION], "NextMarker": ""},
}


class Service:
    """A Lambda API client that answers each update with the resulting operation."""

    def checkpoint_durable_execution(self, *, Updates: list[dict[str, Any]], **_: Any) -> dict[str, Any]:  # noqa: N803
        """Accept `Updates`."""
        operations = [
            {
                "Id": update["Id"],
                "Type": update["Type"],
                "Status": STATUS[update["Action"]],
                "StepDetails": {"Attempt": 1, "Result": update.get("Payload")},
            }
            for update in Updates
        ]
        return {"CheckpointToken": "token", "NewExecutionState": {"Operations": operations}}


class Context:
    """The parts of Lambda's context that the SDK uses."""

    aws_request_id = "request"
    function_name = "f"
    function_version = "1"
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:f:1"
    memory_limit_in_mb = "128"
    log_group_name = log_stream_name = "log"
    identity = client_context = None
    tenant_id = None

    def get_remaining_time_in_millis(self) -> int:
        """Return a sufficient time."""
        return 900_000


def workflow(steps: int) -> Callable[[], object]:
    """Return a function that runs an execution of `steps` steps in one invocation."""

    @durable_execution(boto3_client=Service())
    def handler(_event: object, context: DurableContext) -> str:
        for number in range(steps):
            if context.step(lambda _: PAYLOAD, name=f"step-{number}") != PAYLOAD:
                raise AssertionError
        return "done"

    def run() -> None:
        answer = handler(EVENT, Context())
        if answer["Status"] != "SUCCEEDED":
            raise AssertionError(answer)

    return run


def main() -> None:
    """Print the added time per step."""
    # The difference excludes the invocation's fixed cost.
    alone, together = (cpu_microseconds(workflow(steps), visits=5) for steps in (0, STEPS))
    print((together - alone) / STEPS)


if __name__ == "__main__":
    main()
