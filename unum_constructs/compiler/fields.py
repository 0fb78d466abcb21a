"""Which fields the parts of a definition have: the tables of the Amazon States Language specification.

Whatever is in neither table of a part is a mistake; nothing is ignored in silence.
"""

from collections.abc import Mapping

from unum_constructs.compiler.report import Feature

_GENERAL = frozenset(("Comment", "QueryLanguage"))
_SCOPE = _GENERAL | {"StartAt", "States"}
_STATE = _GENERAL | {"Type"}
_FLOW = _STATE | {"InputPath", "OutputPath"}
_WORK = _FLOW | {"Parameters", "ResultPath", "Next", "End"}
_ITEMS = frozenset(("ItemProcessor", "Iterator", "ItemsPath", "ItemSelector", "MaxConcurrency"))

SUPPORTED: Mapping[str, frozenset[str]] = {
    "a state machine": _SCOPE | {"Version"},
    "a branch": _SCOPE,
    "an item processor": _SCOPE | {"ProcessorConfig"},
    "Task": _WORK | {"Resource", "ResultSelector"},
    "Pass": _WORK | {"Result"},
    "Choice": _FLOW | {"Choices", "Default"},
    "Succeed": _FLOW,
    "Fail": _STATE | {"Error", "Cause"},
    "Parallel": _WORK | {"Branches", "ResultSelector"},
    "Map": _WORK | {"ResultSelector"} | _ITEMS,
}
"""The fields that are compiled."""

_VALUES = {"Assign": Feature.VARIABLES, "Output": Feature.JSONATA}
_CALLS = {**_VALUES, "Arguments": Feature.JSONATA, "Retry": Feature.RETRY, "Catch": Feature.CATCH}

UNSUPPORTED: Mapping[str, Mapping[str, Feature]] = {
    "a state machine": {"TimeoutSeconds": Feature.TIMEOUT},
    "Task": {
        **_CALLS,
        "TimeoutSeconds": Feature.TIMEOUT,
        "TimeoutSecondsPath": Feature.TIMEOUT,
        "HeartbeatSeconds": Feature.HEARTBEAT,
        "HeartbeatSecondsPath": Feature.HEARTBEAT,
        "Credentials": Feature.CREDENTIALS,
    },
    "Pass": _VALUES,
    "Choice": _VALUES,
    "Succeed": _VALUES,
    "Fail": {"ErrorPath": Feature.FAIL_PATHS, "CausePath": Feature.FAIL_PATHS},
    "Parallel": _CALLS,
    "Map": {
        **_CALLS,
        "Items": Feature.JSONATA,
        "MaxConcurrencyPath": Feature.CONCURRENCY_PATH,
        "ItemReader": Feature.DISTRIBUTED_MAP,
        "ItemBatcher": Feature.DISTRIBUTED_MAP,
        "ResultWriter": Feature.DISTRIBUTED_MAP,
        "Label": Feature.DISTRIBUTED_MAP,
        "ToleratedFailureCount": Feature.DISTRIBUTED_MAP,
        "ToleratedFailureCountPath": Feature.DISTRIBUTED_MAP,
        "ToleratedFailurePercentage": Feature.DISTRIBUTED_MAP,
        "ToleratedFailurePercentagePath": Feature.DISTRIBUTED_MAP,
    },
}
"""The fields that the language has and the compiler refuses, with the feature that each belongs to."""

KINDS = ("Task", "Pass", "Choice", "Succeed", "Fail", "Parallel", "Map", "Wait")
"""Every ``Type`` that the language has."""

DATA = ("InputPath", "Parameters", "Result", "ResultSelector", "ResultPath", "OutputPath", "ItemsPath", "ItemSelector")
"""The fields that describe how data flows through a state."""

REMEDIES: Mapping[Feature, str] = {
    Feature.WAIT: "remove the state",
    Feature.JSONATA: 'write it with JSONPath ("InputPath", "Parameters", "ResultSelector", "ResultPath", "OutputPath")',
    Feature.VARIABLES: 'carry the value along in the data, with "ResultPath"',
    Feature.CATCH: "let the function return its error as a value, and choose by it",
    Feature.RETRY: "remove it, or retry inside the function (the CDK's LambdaInvoke adds one unless "
    "retry_on_service_exceptions=False)",
    Feature.TIMEOUT: "set the timeout of the Lambda function",
    Feature.HEARTBEAT: "set the timeout of the Lambda function",
    Feature.CREDENTIALS: "let the function assume the role",
    Feature.FAIL_PATHS: 'write "Error" and "Cause"',
    Feature.DISTRIBUTED_MAP: "use an inline Map over an array in the state's input",
    Feature.CONCURRENCY_PATH: 'write "MaxConcurrency" with a number',
}
"""What to do instead."""
