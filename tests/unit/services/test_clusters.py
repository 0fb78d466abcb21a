"""EMR and EKS: requests, results and jobs of integrations that differ from the services' APIs."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, Running, begin, call, poll, stop
from unum_runtime.model.states import Json

CLUSTER = {
    "Name": "c",
    "ServiceRole": "EMR_DefaultRole",
    "JobFlowRole": "EMR_EC2_DefaultRole",
    "ReleaseLabel": "emr-6.2.0",
    "Instances": {
        "KeepJobFlowAliveWhenNoSteps": True,
        "InstanceGroups": [
            {"Name": "core", "InstanceRole": "CORE", "InstanceType": "m4.large", "InstanceCount": 1},
            {"Name": "main", "InstanceRole": "MASTER", "InstanceType": "m4.large", "InstanceCount": 1},
        ],
    },
}
STEP = {"Name": "s", "HadoopJarStep": {"Jar": "command-runner.jar"}}


@pytest.fixture
def cluster(clients: Clients) -> str:
    created = call("elasticmapreduce:createCluster", CLUSTER, clients=clients)
    assert "JobFlowId" not in created
    return str(created["ClusterId"])


def test_a_step_of_a_cluster(aws: boto3.Session, clients: Clients, cluster: str) -> None:
    added = call("elasticmapreduce:addStep", {"ClusterId": cluster, "Step": STEP}, clients=clients)
    steps = aws.client("emr").list_steps(ClusterId=cluster)["Steps"]
    assert [(step["Id"], step["Name"]) for step in steps] == [(added["StepId"], "s")]
    assert "StepIds" not in added


def test_protection_and_end_of_a_cluster(aws: boto3.Session, clients: Clients, cluster: str) -> None:
    client = aws.client("emr")

    def is_protected() -> bool:
        return bool(client.describe_cluster(ClusterId=cluster)["Cluster"]["TerminationProtected"])

    for protected in (True, False):
        parameters = {"ClusterId": cluster, "TerminationProtected": protected}
        call("elasticmapreduce:setClusterTerminationProtection", parameters, clients=clients)
        assert is_protected() is protected
    handle = begin("elasticmapreduce:terminateCluster", {"ClusterId": cluster}, clients=clients, token="t")
    assert handle == {"ClusterId": cluster}
    ended: Any = poll("elasticmapreduce:terminateCluster", handle, clients=clients)
    assert (ended["ClusterId"], ended["Cluster"]["Status"]["State"]) == (cluster, "TERMINATED")


def test_an_instance_group_is_found_by_its_name(aws: boto3.Session, clients: Clients, cluster: str) -> None:
    parameters = {"ClusterId": cluster, "InstanceGroupName": "core", "InstanceGroup": {"InstanceCount": 8}}
    call("elasticmapreduce:modifyInstanceGroupByName", parameters, clients=clients)
    groups = aws.client("emr").list_instance_groups(ClusterId=cluster)["InstanceGroups"]
    assert {group["Name"]: group["RequestedInstanceCount"] for group in groups} == {"core": 8, "main": 1}
    wrong = parameters | {"InstanceGroupName": "other"}
    with pytest.raises(StatesError, match="has no InstanceGroup with the name 'other'"):
        call("elasticmapreduce:modifyInstanceGroupByName", wrong, clients=clients)


def test_an_instance_fleet_is_found_by_its_name(clients: Clients) -> None:
    with Stubber(clients.client("emr")) as stub:
        fleets = [{"Id": "if-1", "Name": "a"}, {"Id": "if-2", "Name": "b"}]
        stub.add_response("list_instance_fleets", {"InstanceFleets": fleets}, {"ClusterId": "j"})
        changes = {"InstanceFleetId": "if-2", "TargetSpotCapacity": 0}
        stub.add_response("modify_instance_fleet", {}, {"ClusterId": "j", "InstanceFleet": changes})
        parameters = {"ClusterId": "j", "InstanceFleetName": "b", "InstanceFleet": {"TargetSpotCapacity": 0}}
        assert call("elasticmapreduce:modifyInstanceFleetByName", parameters, clients=clients) is not None
        stub.assert_no_pending_responses()


def test_a_cancelled_step(clients: Clients) -> None:
    with Stubber(clients.client("emr")) as stub:
        answer = {"CancelStepsInfoList": [{"StepId": "s-1", "Status": "SUBMITTED"}]}
        stub.add_response("cancel_steps", answer, {"ClusterId": "j", "StepIds": ["s-1"]})
        result = call("elasticmapreduce:cancelStep", {"ClusterId": "j", "StepId": "s-1"}, clients=clients)
    assert result["CancelStepsInfo"] == {"StepId": "s-1", "Status": "SUBMITTED"}


def polled(clients: Clients, resource: str, handle: Json, method: str, response: dict[str, Any]) -> Any:
    with Stubber(clients.client(resource.partition(":")[0].replace("elasticmapreduce", "emr"))) as stub:
        stub.add_response(method, response, handle)
        return poll(resource, handle, clients=clients)


def test_a_step_is_waited_for_and_stopped(clients: Clients) -> None:
    handle = {"ClusterId": "j", "StepId": "s-1"}

    def seen(state: str) -> Any:
        answer = {"Step": {"Id": "s-1", "Status": {"State": state}}}
        return polled(clients, "elasticmapreduce:addStep", handle, "describe_step", answer)

    assert seen("RUNNING") == Running("RUNNING")
    assert seen("COMPLETED")["Step"]["Id"] == "s-1"
    with pytest.raises(StatesError, match=r"States\.TaskFailed"):
        seen("FAILED")
    with Stubber(clients.client("emr")) as stub:
        stub.add_response("cancel_steps", {}, {"ClusterId": "j", "StepIds": ["s-1"]})
        stop("elasticmapreduce:addStep", handle, clients=clients)


@pytest.mark.parametrize("state", ["STARTING", "RUNNING", "WAITING"])
def test_a_cluster_is_created_when_it_waits(clients: Clients, state: str) -> None:
    answer = {"Cluster": {"Id": "j", "Status": {"State": state}}}
    found = polled(clients, "elasticmapreduce:createCluster", {"ClusterId": "j"}, "describe_cluster", answer)
    assert found == ({**answer, "ClusterId": "j"} if state == "WAITING" else Running(state))


PARAMETERS = {
    "Name": "c",
    "RoleArn": "arn:aws:iam::123456789012:role/r",
    "ResourcesVpcConfig": {"SubnetIds": ["subnet-1", "subnet-2"]},
}


def test_a_cluster_of_eks_comes_and_goes(clients: Clients) -> None:
    handle = begin("eks:createCluster", PARAMETERS, clients=clients, token="t")
    assert handle == {"Name": "c"}
    created: Any = poll("eks:createCluster", handle, clients=clients)
    assert created["Cluster"]["Status"] == "ACTIVE"
    assert poll("eks:deleteCluster", handle, clients=clients) == Running("ACTIVE")
    assert begin("eks:deleteCluster", {"Name": "c"}, clients=clients, token="t") == handle
    assert poll("eks:deleteCluster", handle, clients=clients) == {}


def test_only_a_deletion_succeeds_when_nothing_is_left(clients: Clients) -> None:
    with pytest.raises(StatesError, match=r"EKS\.ResourceNotFoundException"):
        poll("eks:createCluster", {"Name": "gone"}, clients=clients)


def test_a_node_group_that_fails(clients: Clients) -> None:
    handle = {"ClusterName": "c", "NodegroupName": "n"}
    answer = {"nodegroup": {"status": "CREATE_FAILED"}}
    with Stubber(clients.client("eks")) as stub:
        stub.add_response("describe_nodegroup", answer, {"clusterName": "c", "nodegroupName": "n"})
        with pytest.raises(StatesError, match=r"States\.TaskFailed"):
            poll("eks:createNodegroup", handle, clients=clients)
