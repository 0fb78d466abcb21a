"""Exact rights of every role."""

import pytest
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_

from tests.synth.deployment import CODE, Deployment, as_list, flat, function
from tests.synth.machines import a_map, chain, choice, machine, task
from unum_compiler.analysis.edges import Operation
from unum_constructs import Store
from unum_constructs.cdk.storage import ACTIONS

COMMIT = ["dynamodb:PutItem"]
READ = ["dynamodb:BatchGetItem", "dynamodb:GetItem"]
LIST = ["dynamodb:Query"]
INVOKE = ["lambda:InvokeFunction"]
FIND_INTAKE = ["lambda:GetFunctionEventInvokeConfig"]


def test_chain() -> None:
    deployment = Deployment.of(chain("A", "B"), "A", "B")
    table = [f"{deployment.logical_id('Flow/Table')}.Arn"]
    a, b, handler = (f"{deployment.logical_id(path)}.Arn:*" for path in ("A", "B", "Flow/OnFailure/Handler"))
    assert deployment.statements("Flow/Permissions/A") == [
        (INVOKE, [b, handler]),
        (FIND_INTAKE, [a]),
        (INVOKE, [a.replace("*", "run-Flow")]),  # a start that is answered
        (sorted(COMMIT + READ), table),  # the definition
        (LIST, table),  # the definitions of other versions
        (sorted(COMMIT + READ + LIST), table),  # it tells how executions have ended
    ]
    assert deployment.statements("Flow/Permissions/B") == [
        (INVOKE, [handler]),
        (FIND_INTAKE, [b]),
        (LIST, table),
        (COMMIT, table),
        (READ, table),
    ]
    assert deployment.properties("Flow/Permissions/A")["Roles"] == [{"Ref": deployment.logical_id("ARole")}]


def test_what_is_not_published_is_not_invoked() -> None:
    """The pattern for all versions includes it."""
    deployment = Deployment.of(
        machine(A=task("A", "W"), W={"Type": "Wait", "Seconds": 9, "Next": "B"}, B=task("B")), *"AB"
    )
    for policy in ("Permissions/A", "OnFailure/Permissions", "Timer/Permissions"):
        allowed = {
            arn
            for actions, arns in deployment.statements(f"Flow/{policy}")
            for arn in arns
            if INVOKE[0] in actions
            if arn.endswith(":*")
        }
        denied = {arn for actions, arns in deployment.denials(f"Flow/{policy}") for arn in arns if actions == INVOKE}
        unpublished = {arn.removesuffix("*") + "$LATEST" for arn in allowed if arn.endswith("*")}
        anywhere = {"arn:AWS::Partition:lambda:AWS::Region:AWS::AccountId:function:*:$LATEST"}
        assert allowed, policy
        assert denied >= unpublished or denied >= anywhere, policy


def test_functions_report_failures_and_control_nothing() -> None:
    deployment = Deployment.of(chain("A", "B"), "A", "B")
    handler = f"{deployment.logical_id('Flow/OnFailure/Handler')}.Arn"
    for policy in ("Flow/Permissions/A", "Flow/Permissions/B"):
        ((actions, denied),) = deployment.denials(policy)
        assert actions == INVOKE
        aliases = set() if policy.endswith("A") else {f"{handler}:*-*"}  # the first Task's failed starts go to an alias
        assert {each for each in denied if each.startswith(handler)} == {f"{handler}:$LATEST", *aliases}


def test_functions_reach_what_is_stored_for_their_own_workflow() -> None:
    deployment = Deployment.of(chain("A"), "A")
    own = ["start:Flow/*", "Flow/*", "memo:Flow/*", "token:Flow/*"]
    for policy in ("Flow/Permissions/A", "Flow/OnFailure/Permissions"):
        assert own in leading_keys(deployment, policy)


def test_only_functions_that_start_executions_write_definitions() -> None:
    deployment = Deployment.of(chain("A", "B"), "A", "B")
    for policy in ("Flow/Permissions/A", "Flow/OnFailure/Permissions"):
        assert {*COMMIT, *LIST} <= on_definitions(deployment, policy)
    assert on_definitions(deployment, "Flow/Permissions/B") == {*LIST}
    in_entry = Deployment.of(machine(M=a_map(chain("A"))), "A")
    assert {*COMMIT, *LIST} <= on_definitions(in_entry, "Flow/Permissions/$entry")
    assert on_definitions(in_entry, "Flow/Permissions/A") == {*LIST}


def on_definitions(deployment: Deployment, policy: str) -> set[str]:
    """Return a policy's actions on definition records."""
    statements = zip(leading_keys(deployment, policy), table_actions(deployment, policy), strict=True)
    return {action for keys, actions in statements if keys == ["definition:Flow/*"] for action in actions}


def test_only_functions_that_start_executions_write_start_records() -> None:
    deployment = Deployment.of(chain("A", "B"), "A", "B")
    own = ["Flow/*", "memo:Flow/*", "token:Flow/*"]
    assert leading_keys(deployment, "Flow/Permissions/B") == [["definition:Flow/*"], own, ["start:Flow/*", *own]]
    assert [actions for actions, _ in deployment.statements("Flow/Permissions/B")[-2:]] == [COMMIT, READ]


LOOP = machine(A=task("A", "B"), B=task("B", "Again"), Again=choice("End", more="A"), End={"Type": "Succeed"})
"""B may invoke A, in which executions start."""


def denied_aliases(deployment: Deployment, policy: str) -> set[str]:
    """The aliases, other than of the failure handler, that a policy denies."""
    arns = {arn for _, denied in deployment.denials(policy) for arn in denied if "Handler" not in arn}
    return {arn.rpartition(":")[2] for arn in arns} - {"$LATEST"}


def test_a_function_that_may_follow_starts_no_executions() -> None:
    deployment = Deployment.of(LOOP, *"AB")
    assert denied_aliases(deployment, "Flow/Permissions/B") == {"start-Flow", "run-Flow", "respond-Flow"}
    assert denied_aliases(deployment, "Flow/Permissions/A") == set()


@pytest.mark.parametrize("names", [("One", "Two"), ("Two", "One")])
def test_nor_executions_of_another_workflow_that_starts_in_its_successor(names: tuple[str, str]) -> None:
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key) for key in "AB"}
    definitions = {"One": chain("A", "B"), "Two": chain("B")}
    for name in names:
        used = {key: functions[key] for key in ("AB" if name == "One" else "B")}
        deployment.flow(definitions[name], used, name)
    assert denied_aliases(deployment, "One/Permissions/A") == {"start-Two", "run-Two", "respond-Two"}
    assert denied_aliases(deployment, "Two/Permissions/B") == set()


def test_functions_of_one_role_start_what_the_first_of_them_starts() -> None:
    deployment = Deployment.new()
    role = iam.Role(deployment.stack, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    deployment.flow(LOOP, {key: function(deployment.stack, key, role=role) for key in "AB"})
    assert denied_aliases(deployment, "Flow/Permissions/B") == set()


def test_a_task_that_starts_executions_may() -> None:
    start = {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution", "End": True}
    definition = machine(
        A=task("A", "S"), S={**start, "Parameters": {"StateMachineArn.$": "$$.StateMachine.Id", "Input": {}}}
    )
    deployment = Deployment.of(definition, "A")
    assert denied_aliases(deployment, "Flow/Permissions/$services") == set()
    run = f"{deployment.logical_id('A')}.Arn:run-Flow"
    assert any(run in arns for _, arns in deployment.statements("Flow/Permissions/$services"))


def leading_keys(deployment: Deployment, policy: str) -> list[list[str]]:
    """The prefixes of partition keys that each statement allows."""
    statements = deployment.properties(policy)["PolicyDocument"]["Statement"]
    conditions = [each["Condition"]["ForAllValues:StringLike"] for each in statements if "Condition" in each]
    return [as_list(each["dynamodb:LeadingKeys"]) for each in conditions]


def table_actions(deployment: Deployment, policy: str) -> list[list[str]]:
    """The actions of the same statements."""
    statements = deployment.properties(policy)["PolicyDocument"]["Statement"]
    return [as_list(each["Action"]) for each in statements if "Condition" in each]


def test_map_reads_and_completes() -> None:
    deployment = Deployment.of(machine(A=task("A", "M"), M=a_map(chain("B"), then="C"), C=task("C")), *"ABC")
    statements = {key: deployment.statements(f"Flow/Permissions/{key}")[-2:] for key in "ABC"}
    table = f"{deployment.logical_id('Flow/Table')}.Arn"
    actions = {
        key: {each for found, arns in both if arns == [table] for each in found} for key, both in statements.items()
    }
    assert actions["A"] == {*COMMIT, *READ, *LIST}
    assert actions["B"] == {*COMMIT, *READ, "dynamodb:UpdateItem"}
    assert actions["C"] == {*COMMIT, *READ, *LIST}


def test_every_operation_has_its_actions() -> None:
    assert ACTIONS.keys() == set(Operation)


def test_loop_invokes_backwards() -> None:
    deployment = Deployment.of(
        machine(A=task("A", "B"), B=task("B", "Again"), Again=choice("End", more="A"), End={"Type": "Succeed"}), *"AB"
    )
    actions, invoked = deployment.statements("Flow/Permissions/B")[0]
    assert (actions, invoked[0]) == (INVOKE, f"{deployment.logical_id('A')}.Arn:*")


def test_no_managed_policies_and_no_wildcards() -> None:
    deployment = Deployment.of(machine(A=task("A", "M"), M=a_map(chain("B"), then="C"), C=task("C")), *"ABC")
    for role in deployment.all("IAM::Role").values():
        assert "ManagedPolicyArns" not in role["Properties"]
    roles = (each["Properties"].get("Policies", ()) for each in deployment.all("IAM::Role").values())
    attached = (each["Properties"] for each in deployment.all("IAM::Policy").values())
    for policy in (*attached, *(policy for policies in roles for policy in policies)):
        statements = policy["PolicyDocument"]["Statement"]
        for statement in (each for each in statements if each["Effect"] == "Allow"):
            assert "*" not in str(statement["Action"])
            for resource in map(flat, as_list(statement["Resource"])):
                assert "*" not in resource.removesuffix(".Arn:*")


def test_functions_write_their_own_logs_only() -> None:
    deployment = Deployment.of(chain("A"), "A")
    logs = f"{deployment.logical_id('ALogs')}.Arn"
    assert deployment.logs("ARole") == [logs]
    assert not [name for name in deployment.all("IAM::Policy") if "DefaultPolicy" in name and name.startswith("ARole")]


def test_functions_do_not_depend_on_edges() -> None:
    deployment = Deployment.of(chain("A", "B"), "A", "B")
    edges = {deployment.logical_id(f"Flow/Permissions/{key}") for key in "AB"}
    for each in deployment.all("Lambda::Function").values():
        assert edges.isdisjoint(each.get("DependsOn", ()))


def test_failures_of_a_shared_function_go_to_its_first_workflow() -> None:
    deployment = Deployment.new()
    shared, own = function(deployment.stack, "Shared"), function(deployment.stack, "Own")
    deployment.flow(chain("S"), {"S": shared}, "One")
    deployment.flow(chain("O", "S"), {"O": own, "S": shared}, "Two")
    first = f"{deployment.logical_id('One/OnFailure/Handler')}.Arn:*"
    assert deployment.statements("One/Permissions/S")[0] == (INVOKE, [first])
    assert all(actions != INVOKE for actions, _ in deployment.statements("Two/Permissions/S"))
    destination = deployment.properties("Shared/CurrentVersion/EventInvokeConfig")["DestinationConfig"]
    assert flat(destination["OnFailure"]["Destination"]) == deployment.version("One/OnFailure/Handler")


def test_a_shared_function_that_starts_reports_to_both_handlers() -> None:
    deployment = Deployment.new()
    shared = function(deployment.stack, "Shared")
    deployment.flow(chain("S"), {"S": shared}, "One")
    deployment.flow(chain("S"), {"S": shared}, "Two")
    for flow in ("One", "Two"):
        handler = f"{deployment.logical_id(f'{flow}/OnFailure/Handler')}.Arn:*"
        assert deployment.statements(f"{flow}/Permissions/S")[0] == (INVOKE, [handler])
        destination = deployment.properties(f"{flow}/Start/EventInvokeConfig")["DestinationConfig"]
        assert flat(destination["OnFailure"]["Destination"]) == deployment.logical_id(f"{flow}/StartIntake")


def test_grant_start() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    web = iam.Role(deployment.stack, "Web", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    assert flow.grant_start(web).success
    assert deployment.statements("Web/DefaultPolicy") == [
        (INVOKE, [deployment.logical_id("Flow/Run"), deployment.logical_id("Flow/Start")]),
    ]


def test_grant_read() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    reader = iam.Role(deployment.stack, "Reader", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    assert flow.grant_read(reader).success
    table = f"{deployment.logical_id('Flow/Table')}.Arn"
    index = (["dynamodb:Query"], [f"{table}/index/executions"])
    describe = (INVOKE, [deployment.logical_id("Flow/Describe")])
    assert deployment.statements("Reader/DefaultPolicy") == [(sorted([*READ, *LIST]), [table]), index, describe]


def test_key_of_an_encrypted_table() -> None:
    deployment = Deployment.new()
    table = encrypted_table(deployment)
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=Store.dynamodb(table=table))
    actions = {action for each, _ in deployment.statements("Flow/Permissions/A") for action in each}
    assert {"kms:Decrypt", "kms:GenerateDataKey"} <= actions


def encrypted_table(deployment: Deployment) -> dynamodb.Table:
    return dynamodb.Table(
        deployment.stack,
        "Own",
        partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
        sort_key=dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.STRING),
        time_to_live_attribute="ttl",
        encryption_key=kms.Key(deployment.stack, "Key"),
    )


def test_own_role() -> None:
    deployment = Deployment.new()
    role = iam.Role(deployment.stack, "Mine", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    own = function(deployment.stack, "A", role=role)
    existing = lambda_.Function(
        deployment.stack,
        "B",
        code=lambda_.Code.from_inline(CODE),
        handler="index.handle",
        runtime=lambda_.Runtime.PYTHON_3_13,
    )
    deployment.flow(chain("A", "B"), {"A": own, "B": existing})
    assert deployment.properties("Flow/Permissions/A")["Roles"] == [{"Ref": deployment.logical_id("Mine")}]
    assert "B/ServiceRole/DefaultPolicy" not in str(deployment.template)
