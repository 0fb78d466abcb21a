"""Acknowledged cdk-nag rules: rules that our constructs break, each with the reason.

The CDK stores acknowledgments in its own format, which cdk-nag 3 reads; synthesis does not need cdk-nag. Each reason
names the option that fulfils the rule, if there is one. Functions that are no `UnumFunction` stay as they are.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import jsii
from aws_cdk import Acknowledgment, Stack, Validations
from constructs import Construct, IConstruct, IValidation

from unum_constructs.cdk.lookup import node_of, stack_of
from unum_runtime.json_text import to_ascii

Reasons: TypeAlias = Mapping[str, str]
"""Reasons by rule name."""

_NIST = "NIST.800.53.R5"
_INLINE = f"{_NIST}-IAMNoInlinePolicy"

NO_RESERVATION: Reasons = {
    f"{_NIST}-LambdaConcurrency": "Lambda retries throttled events; a reservation would reduce the account's "
    "concurrency for functions of any width. `reserved_concurrent_executions` makes one"
}
NO_VPC: Reasons = {
    f"{_NIST}-LambdaInsideVPC": "It calls AWS services with TLS and a role; `vpc` puts it into a VPC",
}
NO_TRACES: Reasons = {"Serverless-LambdaTracing": "`tracing` turns X-Ray on, which bills each trace"}
"""Reasons for functions without an option that is not free of charge or of side effects."""

SAME_RUNTIME: Reasons = {"AwsSolutions-L1": "The newest Python of the workflow's functions"}

DEFAULT_RUNTIME: Reasons = {"AwsSolutions-L1": "The newest Python that the layer is tested on"}

FAILURES_HANDLED: Reasons = {
    f"{_NIST}-LambdaDLQ": "Failed events go to the workflow's failure handler, as on-failure destination, and from "
    "it to the workflow's failure queue"
}

ROLE: Reasons = {_INLINE: "A policy for one role, deleted with the role"}

LOG_GROUP: Reasons = {
    f"{_NIST}-CloudWatchLogGroupEncrypted": "Encrypted with a key of CloudWatch Logs; `encryption_key` sets another"
}

TABLE: Reasons = {
    f"{_NIST}-DynamoDBInBackupPlan": "The state of executions expires; no event would continue a restored one"
}
NO_RECOVERY: Reasons = dict.fromkeys(
    ("AwsSolutions-DDB3", f"{_NIST}-DynamoDBPITREnabled"),
    "The state of executions expires; Store.dynamodb(point_in_time_recovery=True) makes it restorable until then",
)

LARGE_VALUES: Reasons = dict.fromkeys(
    (
        "AwsSolutions-S1",
        f"{_NIST}-S3BucketLoggingEnabled",
        f"{_NIST}-S3BucketReplicationEnabled",
        f"{_NIST}-S3BucketVersioningEnabled",
    ),
    "Parts of execution state, which expires; `payload_bucket` may be a bucket of yours with all this",
) | {f"{_NIST}-S3DefaultEncryptionKMS": "Encrypted with a key of S3; `encryption_key` sets another"}
"""Reasons for the payload bucket."""

MESSAGES: Reasons = {
    "Serverless-LambdaEventSourceMappingDestination": "Failed messages stay in the queue, which has a dead-letter queue"
}
DEAD_LETTERS: Reasons = {"AwsSolutions-SQS3": "It is the workflow's dead-letter queue; an alarm watches it"}
ACTIVITIES: Reasons = {"AwsSolutions-SQS3": "Workers may receive a Task any number of times; its time limit ends it"}

ALARM: Reasons = {f"{_NIST}-CloudWatchAlarmAction": "The app chooses the actions: `add_alarm_action`, or `add_alarms`"}

VERSIONS = "Any version of one function: executions stay on the version that they started with"
RUN_TIME_NAMES = "As far as the definition names it; only run time knows the rest of the name"
NETWORK: Reasons = {"AwsSolutions-IAM5[Resource::*]": "Lambda names the network interfaces itself; AWS requires all"}

TRACES: Reasons = {"AwsSolutions-IAM5[Resource::*]": "X-Ray has no resources for traces: AWS requires all"}


_PCI_DSS = frozenset(
    {
        "CloudWatchLogGroupEncrypted",
        "IAMNoInlinePolicy",
        "LambdaInsideVPC",
        "S3BucketLoggingEnabled",
        "S3BucketReplicationEnabled",
        "S3BucketVersioningEnabled",
        "S3DefaultEncryptionKMS",
    }
)
"""Rules of NIST 800-53 that PCI DSS has, too; HIPAA Security has all that are named here."""

_SERVERLESS = {
    "AwsSolutions-L1": "Serverless-LambdaLatestVersion",
    "AwsSolutions-SQS3": "Serverless-SQSRedrivePolicy",
    f"{_NIST}-LambdaDLQ": "Serverless-LambdaDLQ",
}
"""Rules of the pack Serverless by the same rule in another pack."""


def in_all_packs(reasons: Reasons) -> Reasons:
    """Return `reasons` for the same rules in the packs NIST 800-53 R5, HIPAA Security, PCI DSS and Serverless."""
    found: dict[str, str] = {}
    for rule, why in reasons.items():
        pack, _, name = rule.partition("-")
        alike = [f"HIPAA.Security-{name}"] if pack == _NIST else []
        alike += [f"PCI.DSS.321-{name}"] if pack == _NIST and name in _PCI_DSS else []
        alike += [_SERVERLESS[rule]] if rule in _SERVERLESS else []
        found |= dict.fromkeys((rule, *alike), why)
    return found


_LIBRARY = "cdk_nag"


def acknowledge(construct: IConstruct, reasons: Reasons) -> None:
    """Record that resources below `construct` break rules, and the reasons.

    Without cdk-nag in the process, nothing reads them: they wait, in case it is loaded before the end of synthesis.
    """
    if _LIBRARY in sys.modules:
        _record(construct, reasons)
        return
    stack = stack_of(construct)
    if stack not in _waiting:
        _waiting[stack] = []
        node_of(stack).add_validation(_RecordWaiting(_waiting[stack]))
    _waiting[stack].append((construct, reasons))


@jsii.implements(IValidation)
class _RecordWaiting:
    """Validation that records what waits, before cdk-nag reads the tree."""

    def __init__(self, waiting: list[tuple[IConstruct, Reasons]]) -> None:
        self._waiting = waiting

    def validate(self) -> list[str]:
        if _LIBRARY in sys.modules:
            for construct, reasons in self._waiting:
                _record(construct, reasons)
            self._waiting.clear()
        return []


_waiting: WeakKeyDictionary[Stack, list[tuple[IConstruct, Reasons]]] = WeakKeyDictionary()
"""Acknowledgments by stack: each is two requests to the CDK's process, of which a function would need eight."""


def _record(construct: IConstruct, reasons: Reasons) -> None:
    notes = [Acknowledgment(id=rule, reason=why) for rule, why in in_all_packs(reasons).items()]
    validations = _validations.get(construct) or Validations.of(construct)
    _validations[construct] = validations
    try:
        validations.acknowledge(*notes)
    except RuntimeError:
        for note in notes:
            # Older versions of the CDK reject rule names with AWS::Region; with them, cdk-nag keeps the finding.
            with suppress(RuntimeError):
                validations.acknowledge(note)


_validations: WeakKeyDictionary[IConstruct, Validations] = WeakKeyDictionary()
"""Validations by construct: asking for them is a request to the CDK's process."""


def acknowledge_policies(workflow: Construct, versions_of: Iterable[str], named_at_run_time: Iterable[str]) -> None:
    """Acknowledge each wildcard in the workflow's policies separately; cdk-nag still reports all others.

    Args:
        workflow: construct above the policies.
        versions_of: ARNs of functions with permission for all versions.
        named_at_run_time: resources of services that Tasks call.
    """
    versions, named = Stack.of(workflow).resolve([[f"{arn}:*" for arn in versions_of], [*named_at_run_time]])
    # A lone asterisk stays a finding: the user acknowledges such Tasks.
    partly = [text for text in map(_finding_text, named) if "*" in text and text != "*"]
    found = dict.fromkeys(map(_finding_text, versions), VERSIONS) | dict.fromkeys(partly, RUN_TIME_NAMES)
    acknowledge(workflow, {**ROLE, **{f"AwsSolutions-IAM5[Resource::{text}]": why for text, why in found.items()}})


def acknowledge_when_resolved(
    workflow: Construct, versions_of: Iterable[str], named_at_run_time: Iterable[str]
) -> None:
    """Acknowledge wildcards again at the end of synthesis, after references to other stacks are final."""
    workflow.node.add_validation(_AcknowledgeResolved(workflow, [*versions_of], [*named_at_run_time]))


@jsii.implements(IValidation)
class _AcknowledgeResolved:
    """Validation that runs after the CDK has resolved references, and before cdk-nag reads the tree."""

    def __init__(self, workflow: Construct, versions_of: Sequence[str], named_at_run_time: Sequence[str]) -> None:
        self._arguments = workflow, versions_of, named_at_run_time

    def validate(self) -> list[str]:
        acknowledge_policies(*self._arguments)
        return []


def _finding_text(value: Any) -> str:
    """Return a resource in the form of cdk-nag's finding names, with references in angle brackets."""
    match value:
        case str():
            return value.replace("${", "<").replace("}", ">")
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(_finding_text, parts))
        case {"Fn::Sub": text} | {"Fn::ImportValue": text}:
            return _finding_text(text)
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{_finding_text(resource)}.{_finding_text(attribute)}>"
        case {"Ref": name}:
            return f"<{_finding_text(name)}>"
    return to_ascii(value, is_compact=True)
