"""Requests and responses of ``elasticmapreduce``: one cluster or step, by name, where the API of EMR has lists and ids.

Source: Developer Guide, "Create and manage Amazon EMR clusters with Step Functions".
"""

from collections.abc import Mapping
from dataclasses import replace

from unum_runtime.features.services.api_request import send_request
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.operation import Resource
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.features.services.spelling import fold_name
from unum_runtime.model.states import Json

PREFIX = "elasticmapreduce:"

_LISTED: Mapping[str, Mapping[str, str]] = {
    "addStep": {"Step": "Steps"},
    "cancelStep": {"StepId": "StepIds"},
    "setClusterTerminationProtection": {"ClusterId": "JobFlowIds"},
    "terminateCluster": {"ClusterId": "JobFlowIds"},
}
"""Fields with one value, and the lists of the API that take it, by action."""

_RETURNED: Mapping[str, tuple[str, str]] = {
    "addStep": ("StepIds", "StepId"),
    "cancelStep": ("CancelStepsInfoList", "CancelStepsInfo"),
}
"""List in the response, and the result's field for its only item, by action."""


def emr_request(resource: Resource, parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Return the parameters of the API request for `resource`.

    Raises:
        StatesError: a required name is missing, or unknown to the cluster.
    """
    action = resource.name.removeprefix(PREFIX)
    named = {fold_name(name): (name, value) for name, value in parameters.items()}
    match action:
        case "modifyInstanceFleetByName":
            fleet = _with_id(resource, named, "InstanceFleet", clients)
            return {"ClusterId": _required(named, "ClusterId"), "InstanceFleet": fleet}
        case "modifyInstanceGroupByName":
            group = _with_id(resource, named, "InstanceGroup", clients)
            return {"ClusterId": _required(named, "ClusterId"), "InstanceGroups": [group]}
    lists = _LISTED.get(action, {})
    request = {to: [_required(named, one)] for one, to in lists.items()}
    rest = {name: value for name, value in parameters.items() if fold_name(name) not in map(fold_name, lists)}
    if action == "addStep":
        rest = {"JobFlowId" if fold_name(name) == "clusterid" else name: value for name, value in rest.items()}
    return {**rest, **request}


def emr_result(resource: Resource, response: Mapping[str, Json]) -> Json:
    """Return the Task result for the API's response."""
    action = resource.name.removeprefix(PREFIX)
    if action == "createCluster":
        return {"ClusterId" if name == "JobFlowId" else name: value for name, value in response.items()}
    if action not in _RETURNED:
        return response
    listed, one = _RETURNED[action]
    rest = {name: value for name, value in response.items() if name != listed}
    return rest | {one: next(iter(response.get(listed) or ()), None)}


def _with_id(resource: Resource, named: Mapping[str, tuple[str, Json]], kind: str, clients: Clients) -> Json:
    """Return the changes of an instance fleet or group, with the id that the cluster knows by its name."""
    cluster, name = _required(named, "ClusterId"), _required(named, f"{kind}Name")
    listing = replace(resource, operation=f"List{kind}s")
    found = send_request(listing, {"ClusterId": cluster}, clients)[f"{kind}s"]
    ids = [each["Id"] for each in found if each.get("Name") == name]
    if not ids:
        raise BadParameter("$", f"the cluster {cluster!r} has no {kind} with the name {name!r}")
    return {**_required(named, kind), f"{kind}Id": ids[0]}


def _required(named: Mapping[str, tuple[str, Json]], name: str) -> Json:
    if fold_name(name) not in named:
        raise BadParameter("$", f"The field {name!r} is required but was missing")
    return named[fold_name(name)][1]
