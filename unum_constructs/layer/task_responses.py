"""Layer with boto3's client for answers by task token, for functions outside of workflows."""

from unum_constructs.layer.drop_in import DropIn

TASK_RESPONSES = DropIn(
    package="unum_task_responses",
    variable="UNUM_TASK_RESPONSES",
    construct_id="UnumTaskResponses",
    description="Client for answers to Tasks of Unum workflows",
    notice="unum:noTaskResponsesLayer",
    purpose="to answer Tasks",
)
"""Its addresses are ARNs of response aliases."""
