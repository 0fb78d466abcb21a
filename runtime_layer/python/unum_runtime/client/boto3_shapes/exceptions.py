"""Errors of the boto3-shaped client, under boto3's names."""

from unum_runtime.client.boto3_shapes.arns import InvalidArn, ResourceNotFound, StateMachineDoesNotExist
from unum_runtime.errors import (
    ActivityDoesNotExist,
    ClientError,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotRedrivable,
    InvalidExecutionInput,
    InvalidName,
    InvalidOutput,
    InvalidToken,
    TaskTimedOut,
)
from unum_runtime.protocol.control.operator_requests import ValidationException


class NeverRaised(ClientError):
    """Error that only Step Functions raises; defined for existing ``except`` clauses."""


class Exceptions:
    """Equivalent of boto3's ``client.exceptions``."""

    ClientError = ClientError
    ActivityDoesNotExist = ActivityDoesNotExist
    ExecutionAlreadyExists = ExecutionAlreadyExists
    ExecutionDoesNotExist = ExecutionDoesNotExist
    ExecutionNotRedrivable = ExecutionNotRedrivable
    InvalidArn = InvalidArn
    InvalidExecutionInput = InvalidExecutionInput
    InvalidName = InvalidName
    InvalidOutput = InvalidOutput
    InvalidToken = InvalidToken
    ResourceNotFound = ResourceNotFound
    StateMachineDoesNotExist = StateMachineDoesNotExist
    TaskTimedOut = TaskTimedOut
    ValidationException = ValidationException

    ActivityAlreadyExists = NeverRaised
    ActivityLimitExceeded = NeverRaised
    ActivityWorkerLimitExceeded = NeverRaised
    ConflictException = NeverRaised
    ExecutionLimitExceeded = NeverRaised
    InvalidDefinition = NeverRaised
    InvalidEncryptionConfiguration = NeverRaised
    InvalidLoggingConfiguration = NeverRaised
    InvalidTracingConfiguration = NeverRaised
    KmsAccessDeniedException = NeverRaised
    KmsInvalidStateException = NeverRaised
    KmsThrottlingException = NeverRaised
    MissingRequiredParameter = NeverRaised
    ServiceQuotaExceededException = NeverRaised
    StateMachineAlreadyExists = NeverRaised
    StateMachineDeleting = NeverRaised
    StateMachineLimitExceeded = NeverRaised
    StateMachineTypeNotSupported = NeverRaised
    TaskDoesNotExist = NeverRaised
    TooManyTags = NeverRaised
