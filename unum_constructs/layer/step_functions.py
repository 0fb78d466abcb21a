"""Layer with boto3's client of Step Functions for executions of workflows, for functions outside of workflows."""

from unum_constructs.layer.drop_in import DropIn

STEP_FUNCTIONS = DropIn(
    package="unum_stepfunctions",
    variable="UNUM_ADDRESSES",
    construct_id="UnumStepFunctions",
    description="Client of Step Functions that knows Unum workflows",
    notice="unum:noStepFunctionsLayer",
    purpose="to start and read executions by boto3's methods",
)
"""Its addresses are ARNs of aliases, and tables as ``WORKFLOW=TABLE``."""
