"""Errors of the boto3-shaped client, under boto3's names, and operations that it lacks, with alternatives."""

from collections.abc import Mapping

from unum_client.boto3_shapes.arns import InvalidArn, ResourceNotFound, StateMachineDoesNotExist
from unum_runtime import errors
from unum_runtime.protocol.control.operator_requests import ValidationException


class NeverRaised(errors.ClientError):
    """Error that only Step Functions raises; defined for existing ``except`` clauses."""


class Exceptions:
    """Equivalent of boto3's ``client.exceptions``."""

    ClientError = errors.ClientError
    ActivityDoesNotExist = errors.ActivityDoesNotExist
    ExecutionAlreadyExists = errors.ExecutionAlreadyExists
    ExecutionDoesNotExist = errors.ExecutionDoesNotExist
    ExecutionNotRedrivable = errors.ExecutionNotRedrivable
    InvalidArn = InvalidArn
    InvalidExecutionInput = errors.InvalidExecutionInput
    InvalidName = errors.InvalidName
    InvalidOutput = errors.InvalidOutput
    InvalidToken = errors.InvalidToken
    ResourceNotFound = ResourceNotFound
    StateMachineDoesNotExist = StateMachineDoesNotExist
    TaskTimedOut = errors.TaskTimedOut
    ValidationException = ValidationException

    ActivityAlreadyExists = ActivityLimitExceeded = ActivityWorkerLimitExceeded = ConflictException = NeverRaised
    ExecutionLimitExceeded = InvalidDefinition = InvalidEncryptionConfiguration = InvalidLoggingConfiguration = (
        NeverRaised
    )
    InvalidTracingConfiguration = KmsAccessDeniedException = KmsInvalidStateException = NeverRaised
    KmsThrottlingException = MissingRequiredParameter = ServiceQuotaExceededException = NeverRaised
    StateMachineAlreadyExists = StateMachineDeleting = StateMachineLimitExceeded = NeverRaised
    StateMachineTypeNotSupported = TaskDoesNotExist = TooManyTags = NeverRaised


_DEPLOYED = "a workflow belongs to a stack; change it with the CDK and deploy"
_ACTIVITY = "the definition contains the activities; deploy it with the CDK"
_VERSIONS = "the start alias points to the version of the last deployment; use versions of the stack and its functions"
_DEFINITION = "the client does not have the definition; its text is in the CDK app, its compiled form in the layer"
_LISTED = "this is a client of one workflow; list stacks, whose outputs have their workflows and activities"
_TAGS = "tags belong to the workflow's resources; use the CDK's Tags, or the Resource Groups Tagging API"
_BUILT = "definitions are checked when they are compiled"

UNSUPPORTED: Mapping[str, str] = {
    "create_activity": _ACTIVITY,
    "create_state_machine": _DEPLOYED,
    "create_state_machine_alias": _VERSIONS,
    "delete_activity": _ACTIVITY,
    "delete_state_machine": _DEPLOYED,
    "delete_state_machine_alias": _VERSIONS,
    "delete_state_machine_version": _VERSIONS,
    "describe_activity": _ACTIVITY,
    "describe_state_machine": _DEFINITION,
    "describe_state_machine_alias": _VERSIONS,
    "describe_state_machine_for_execution": _DEFINITION,
    "list_activities": _LISTED,
    "list_state_machine_aliases": _VERSIONS,
    "list_state_machine_versions": _VERSIONS,
    "list_state_machines": _LISTED,
    "list_tags_for_resource": _TAGS,
    "publish_state_machine_version": _VERSIONS,
    "tag_resource": _TAGS,
    "test_state": f"{_BUILT}; use the command `unum test-state`",
    "untag_resource": _TAGS,
    "update_map_run": "a Map's concurrency is fixed when it starts; stop the execution, or let it end",
    "update_state_machine": _DEPLOYED,
    "update_state_machine_alias": _VERSIONS,
    "validate_state_machine_definition": f"{_BUILT}; use the command `unum validate`",
    "generate_presigned_url": "Step Functions does not know the workflow; start it through an event source",
    "get_waiter": "boto3 has none either; use `Client.wait` to wait for the end of an execution",
    "meta": "the client uses no Step Functions endpoint; region and credentials are those of `connect`'s session",
}
"""Alternatives by operation name."""
