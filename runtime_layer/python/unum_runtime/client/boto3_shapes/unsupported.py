"""What ``boto3.client("stepfunctions")`` can do and a client of one workflow cannot, with what to do instead."""

from collections.abc import Mapping

_DEPLOYED = "a workflow is a stack's; change it with the CDK, and deploy that"
_ACTIVITY = "activities are in the definition; deploy that with the CDK"
_VERSIONS = "each deployment is a version, to which the start alias leads; use those of the stack and of its functions"
_DEFINITION = "the client does not have the text of the definition; it is in the CDK app, and compiled in the layer"
_LISTED = "this is a client of one workflow; look for stacks, whose outputs say what they have"
_TAGS = "a workflow has the tags of its resources; use the CDK's Tags, or the Resource Groups Tagging API"
_BUILT = "definitions are compiled where they are written"

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
    "update_map_run": "how many branches run at once is fixed when a Map begins; stop the execution, or let it end",
    "update_state_machine": _DEPLOYED,
    "update_state_machine_alias": _VERSIONS,
    "validate_state_machine_definition": f"{_BUILT}; use the command `unum validate`",
    "generate_presigned_url": "no API of Step Functions knows the workflow; start it through an event source",
    "get_waiter": "there is none in boto3 either; `Client.wait` waits for the end of an execution",
    "meta": "no endpoint of Step Functions is asked; region and credentials are those of the session for `connect`",
}
"""By the name of the operation."""
