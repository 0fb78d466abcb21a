"""Names that modules of the client had in version 0.1.0; pictures moved to the distribution `unum-cli`."""

MOVED = """
unum_client unum_client.boto3_shapes: arns exceptions execution_shapes map_run_shapes unsupported
unum_client unum_client.events: task_events journal account=scope_events passing=passed_states
unum_client unum_client.events: joining=join_outcome
unum_client unum_client.reading: history=stored_steps map_runs progress listing=execution_list
unum_client unum_client.reading: pages=page_tokens
unum_client unum_client.terminal: amounts board columns live
unum_client unum_client: pauses=polling records=descriptions tasks=task_responses
unum_client unum_cli: picture
unum_client.picture unum_cli.picture: columns draw graph=nested_graph layers mermaid place=placement svg wording
"""
"""Table for `unum_runtime.former_names.parse_names`."""
