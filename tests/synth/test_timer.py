"""Timer queue: only in workflows with events that may wait."""

import json

import pytest

from tests.synth.deployment import Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import Machine, a_map, chain, machine, parallel, task
from unum_constructs import FunctionOptions, Guard

RETRY = {"Retry": [{"ErrorEquals": ["Flaky"]}]}
SEND = ["sqs:SendMessage"]
HANDLER = "Flow/OnFailure/Handler"
HANDLER_ROLE = f"{HANDLER}Role"
INVOKE = ["lambda:InvokeFunction"]
HAND_ON = ["lambda:GetFunctionEventInvokeConfig", *INVOKE]
RECEIVE = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]


def wait(then: str | None = None) -> Machine:
    return {"Type": "Wait", "Seconds": 5, **({"End": True} if then is None else {"Next": then})}


@pytest.fixture(scope="module")
def waiting() -> Deployment:
    """B waits for C; nobody else waits."""
    return Deployment.of(machine(A=task("A", "B"), B=task("B", "W"), W=wait("C"), C=task("C")), *"ABC")


def environment(deployment: Deployment, path: str) -> str | None:
    timer: str | None = deployment.services(path)["Flow"].get("timer")
    return timer


def targets(deployment: Deployment, policy: str = "Flow/Timer/Permissions") -> set[str]:
    invoked = next(arns for actions, arns in deployment.statements(policy) if INVOKE[0] in actions)
    return {arn.removesuffix(".Arn:*") for arn in invoked}


def test_nothing_without_need() -> None:
    deployment = Deployment.of(
        machine(A={**task("A", "B"), "Catch": [{"ErrorEquals": ["E"], "Next": "B"}]}, B=task("B")), *"AB"
    )
    assert deployment.all("Lambda::EventSourceMapping") == {}
    assert len(deployment.all("SQS::Queue")) == 1
    assert environment(deployment, "A") is None


@pytest.mark.parametrize("options", [FunctionOptions(guard=Guard.LEASE), FunctionOptions(memoize=True)])
def test_functions_that_may_wait_for_a_lease_have_a_timer_for_themselves(options: FunctionOptions) -> None:
    deployment = Deployment.of(chain("A", "B"), *"AB", function_options={"A": options})
    assert environment(deployment, "A") is not None
    assert environment(deployment, "B") is None
    assert targets(deployment) == {deployment.logical_id(key) for key in "AB"}
    assert (SEND, [f"{deployment.logical_id('Flow/Timer/Queue')}.Arn"]) in deployment.statements("Flow/Permissions/A")
    assert len(deployment.all("Lambda::EventSourceMapping")) == 1


def test_queue(waiting: Deployment) -> None:
    assert waiting.properties("Flow/Timer/Queue") == {
        "MessageRetentionPeriod": 14 * 24 * 3600,
        "RedrivePolicy": {
            "deadLetterTargetArn": {"Fn::GetAtt": [waiting.logical_id("Flow/Failures"), "Arn"]},
            "maxReceiveCount": 10,
        },
        "SqsManagedSseEnabled": True,
        "VisibilityTimeout": 180,
    }
    (statement,) = waiting.properties("Flow/Timer/Queue/Policy")["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_forwarder(waiting: Deployment) -> None:
    forwarder = waiting.properties("Flow/Timer/Forwarder")
    assert forwarder["Handler"] == "unum_runtime.aws.forwarder.handle"
    variables = forwarder["Environment"]["Variables"]
    senders = json.loads(flat(variables.pop("UNUM_SENDERS")))
    assert variables == {
        "UNUM_TIMER": {"Ref": waiting.logical_id("Flow/Timer/Queue")},
        "UNUM_MAX_RECEIVES": "10",
        "UNUM_INTAKE": {"Ref": waiting.version(HANDLER)},
        "UNUM_LETTERS": {"Ref": waiting.logical_id("Flow/Failures")},
        "UNUM_METRICS": "workflow",
    }
    assert senders == {
        "workflow": "Flow",
        "trusted": trusted_roles(waiting),
        "edges": {waiting.logical_id("B"): [waiting.logical_id("C")]},
    }
    assert "Layers" not in forwarder
    assert forwarder["RecursiveLoop"] == "Allow"
    versions = {flat(each["Properties"]["FunctionName"]) for each in waiting.all("Lambda::Version").values()}
    assert waiting.logical_id("Flow/Timer/Forwarder") not in versions


def test_messages_are_handed_over_when_it_is_allowed(waiting: Deployment) -> None:
    mapping = waiting.resource("Flow/Timer/Messages")
    assert mapping["Properties"] == {
        "BatchSize": 10,
        "EventSourceArn": {"Fn::GetAtt": [waiting.logical_id("Flow/Timer/Queue"), "Arn"]},
        "FunctionName": {"Ref": waiting.logical_id("Flow/Timer/Forwarder")},
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
    }
    assert waiting.logical_id("Flow/Timer/Permissions") in mapping["DependsOn"]


def test_no_execution_starts_before_the_timer_is_there(waiting: Deployment) -> None:
    assert waiting.logical_id("Flow/Timer/Messages") in waiting.resource("Flow/Start")["DependsOn"]


def test_the_forwarder_may_do_this_and_nothing_else(waiting: Deployment) -> None:
    queue = f"{waiting.logical_id('Flow/Timer/Queue')}.Arn"
    # Every function: executions of older definitions have Waits elsewhere.
    invoked = sorted(f"{waiting.logical_id(key)}.Arn:*" for key in "ABC")
    kept = sorted([queue, f"{waiting.logical_id('Flow/Failures')}.Arn"])
    handler = [f"{waiting.logical_id(HANDLER)}.Arn:*"]
    own = [(HAND_ON, invoked), (RECEIVE, [queue]), (SEND, kept), (INVOKE, handler)]
    assert waiting.statements("Flow/Timer/Permissions") == own
    logs = f"{waiting.logical_id('Flow/Timer/ForwarderLogs')}.Arn"
    assert waiting.logs("Flow/Timer/ForwarderRole") == [logs]


def test_only_who_waits_may_send(waiting: Deployment) -> None:
    queue = f"{waiting.logical_id('Flow/Timer/Queue')}.Arn"
    sends = {key: waiting.statements(f"Flow/Permissions/{key}")[-1] for key in "ABC"}
    assert {key: queues for key, (actions, queues) in sends.items() if actions == SEND} == {"B": [queue]}
    assert [environment(waiting, key) is not None for key in "ABC"] == [False, True, False]
    assert environment(waiting, "B") == waiting.logical_id("Flow/Timer/Queue")


def test_who_waits_may_invoke_itself_and_recursion_is_allowed(waiting: Deployment) -> None:
    assert targets(waiting, "Flow/Permissions/B") == {waiting.logical_id(key) for key in ("B", "C", HANDLER)}
    assert waiting.properties("B")["RecursiveLoop"] == "Allow"
    assert "RecursiveLoop" not in waiting.properties("A")


def test_retry_of_a_task() -> None:
    deployment = Deployment.of(machine(A={**task("A", "B"), **RETRY}, B=task("B")), *"AB")
    assert targets(deployment) == {deployment.logical_id(key) for key in "AB"}
    assert environment(deployment, "B") is None


def test_retry_of_a_scope() -> None:
    definition = machine(S=task("S", "P"), P={**parallel(chain("A"), chain("B")), **RETRY})
    deployment = Deployment.of(definition, *"SAB")
    assert targets(deployment) >= {deployment.logical_id(key) for key in "AB"}


def test_a_workflow_that_begins_with_a_wait() -> None:
    deployment = Deployment.of(machine(W=wait("A"), A=task("A")), "A")
    assert targets(deployment) == {deployment.logical_id(path) for path in ("Flow/Entry", "A")}
    assert environment(deployment, "Flow/Entry") == deployment.logical_id("Flow/Timer/Queue")


def test_a_wait_in_a_map() -> None:
    deployment = Deployment.of(machine(A=task("A", "M"), M=a_map(machine(B=task("B", "W"), W=wait()))), *"AB")
    assert targets(deployment) == {deployment.logical_id(key) for key in "AB"}


def test_two_workflows_have_each_their_own() -> None:
    deployment = Deployment.new()
    shared = function(deployment.stack, "A")
    for name in ("One", "Two"):
        deployment.flow(machine(A={**task("A"), **RETRY}), {"A": shared}, name)
    timers = {name: service["timer"] for name, service in deployment.services("A").items()}
    assert timers == {name: deployment.logical_id(f"{name}/Timer/Queue") for name in ("One", "Two")}
    handlers = {name: f"{deployment.logical_id(f'{name}/OnFailure/Handler')}.Arn:*" for name in ("One", "Two")}
    for name, reported in {"One": ["One"], "Two": ["One", "Two"]}.items():
        allowed = deployment.statements(f"{name}/Timer/Permissions")
        assert (INVOKE, sorted(handlers[each] for each in reported)) in allowed


def test_logical_ids() -> None:
    """They are public: another one means another resource, and what the old one holds is gone."""
    send = {**task("arn:aws:states:::sqs:sendMessage", "A"), "Parameters": {"QueueUrl.$": "$.q", "MessageBody": "x"}}
    deployment = Deployment.of(machine(W=wait("S"), S=send, A={**task("A"), **RETRY}), "A")
    ours = {name for name in deployment.template["Resources"] if name.startswith("Flow")}
    own = ("Flow/Entry", "Flow/Services", HANDLER, "Flow/ControlFunction/Function")
    versions = {deployment.version(path) for path in own}
    assert ours - versions - {f"{version}OnFailure" for version in versions} == LOGICAL_IDS


LOGICAL_IDS = {
    "FlowDescribe57365C93",
    "FlowRespondF882F885",
    "FlowRun82FA822C",
    "FlowRunEventInvokeConfigAF2526A3",
    "FlowStartIntakeEventInvokeConfig4029DAB4",
    "FlowControlFunctionCFA9B654",
    "FlowControlFunctionFunctionLogs398BB54E",
    "FlowControlFunctionFunctionRole32AB83CC",
    "FlowControlFunctionNudge6F2B21ED",
    "FlowControlFunctionOperate2D78EF16",
    "FlowControlFunctionPermissionsE66D3B7A",
    "FlowControlFunctionSweepAE97C53F",
    "FlowStartIntakeA6910465",
    "FlowEntry6F44A694",
    "FlowEntryLogsB6F6074C",
    "FlowEntryRole78432AF3",
    "FlowFailures70A1C59A",
    "FlowFailuresPolicyD3807436",
    "FlowGuard90159761",
    "FlowOnFailureAlarmF3425B14",
    "FlowOnFailureHandlerAA58EE16",
    "FlowOnFailureHandlerLogsA2D53CC4",
    "FlowOnFailureHandlerRoleE01F911A",
    "FlowOnFailurePermissionsE2A3F1D6",
    "FlowPermissionsAD074D2F6",
    "FlowPermissionsentry2FDC8978",
    "FlowPermissionsservices7D1E4308",
    "FlowServices3533FDC8",
    "FlowServicesLogsDD4858A1",
    "FlowServicesRoleD18A2168",
    "FlowStartB5E08C23",
    "FlowStartEventInvokeConfig7842CF2B",
    "FlowSweepEventInvokeConfigFC3BA434",
    "FlowSweepRoleAC187507",
    "FlowSweepSchedule7EB34974",
    "FlowTable14E9F23A",
    "FlowTimerForwarderE15EB7CC",
    "FlowTimerForwarderLogsF43CBDE1",
    "FlowTimerForwarderRole931CDEFB",
    "FlowTimerMessages81BC939A",
    "FlowTimerPermissions5A6FB696",
    "FlowTimerQueue8DB246E7",
    "FlowTimerQueuePolicy94BBF3A7",
}


def test_cfn_lint(waiting: Deployment) -> None:
    assert complaints(waiting.template) == []
    assert waiting.warnings() == []


def test_the_sweep_trusts_letters_of_the_machinery(waiting: Deployment) -> None:
    variables = waiting.properties("Flow/ControlFunction/Function")["Environment"]["Variables"]
    assert json.loads(flat(variables["UNUM_SENDERS"]))["trusted"] == trusted_roles(waiting)


def trusted_roles(waiting: Deployment) -> list[str]:
    roles = (HANDLER_ROLE, "Flow/ControlFunction/FunctionRole", "Flow/Timer/ForwarderRole")
    return [f"{waiting.logical_id(role)}.RoleId" for role in roles]


def test_functions_without_a_place_in_the_environment_are_left_out() -> None:
    """Their events make a detour by the intake."""
    names = [f"T{number}" for number in range(40)]
    states = {name: task(name, f"W{name}") for name in names} | {
        f"W{name}": wait(then) for name, then in zip(names, [*names[1:], "Last"], strict=True)
    }
    deployment = Deployment.of(machine(**states, Last=task("Last")), *names, "Last")
    edges = json.loads(flat(forwarder_variables(deployment)["UNUM_SENDERS"]))["edges"]
    assert [*edges] == [deployment.logical_id(name) for name in names[: len(edges)]]
    assert 10 <= len(edges) < len(names)


def forwarder_variables(deployment: Deployment) -> Machine:
    variables: Machine = deployment.properties("Flow/Timer/Forwarder")["Environment"]["Variables"]
    return variables
