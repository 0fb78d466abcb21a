"""What to call in place of operations and arguments that the client does not have for workflows."""

_DEPLOYED = "a workflow belongs to a stack; change it with the CDK and deploy"
_READ = "use `unum_client.stepfunctions.StepFunctionsClient`, which has boto3's names (pip install unum-client)"
_TAGS = "tags belong to the workflow's resources; use the Resource Groups Tagging API"
_VERSIONS = "the start alias points to the version of the last deployment; use versions of the stack"

COUNTERPARTS = {
    "": "use `unum_client` or the command `unum`",
    "delete_state_machine": _DEPLOYED,
    "describe_map_run": _READ,
    "describe_state_machine": "use `unum_client.Client.definition`; its text is in the CDK app",
    "describe_state_machine_for_execution": "use `unum_client.Client.definition`; its text is in the CDK app",
    "get_execution_history": _READ,
    "list_executions": _READ,
    "list_map_runs": _READ,
    "list_state_machine_aliases": _VERSIONS,
    "list_state_machine_versions": _VERSIONS,
    "list_tags_for_resource": _TAGS,
    "publish_state_machine_version": _VERSIONS,
    "tag_resource": _TAGS,
    "untag_resource": _TAGS,
    "update_map_run": "a Map's concurrency is fixed when it starts; stop the execution, or let it end",
    "update_state_machine": _DEPLOYED,
}
"""Counterparts by operation."""

INSTEAD = {
    "traceHeader": "omit it; Lambda passes the trace of this function on",
    "redriveFilter": "use `unum_client.Client.list` and `Client.redriven_at`",
    "mapRunArn": _READ,
}
"""Counterparts by argument."""
