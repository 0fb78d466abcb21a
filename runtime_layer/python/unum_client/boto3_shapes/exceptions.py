"""Errors of the boto3-shaped client, under boto3's names."""

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
