"""Module names of version 0.1.0, for programs that import them; see `unum_runtime.former_names`."""

from unum_runtime.former_names import parse_names

_MOVED = """
unum_constructs.compiler unum_compiler: options compile report=problems
unum_constructs .: compiler=unum_compiler
unum_constructs.compiler unum_compiler.parsing: asl=tree read document fields part=object_reader maps numbers recovery
unum_constructs.compiler unum_compiler.parsing: resources=task_resources tokens expressions
unum_constructs.compiler unum_compiler.parsing: jsonata=jsonata_fields jsonpath=jsonpath_fields credentials datasets
unum_constructs.compiler unum_compiler.checks: dataset_tasks check=scope_checks certain=certain_successors
unum_constructs.compiler unum_compiler.checks: context=context_object
unum_constructs.compiler unum_compiler.checks: references uncommitted=skipped_checkpoints variables warnings
unum_constructs.compiler unum_compiler.lowering: lower
unum_constructs.compiler unum_compiler.analysis: edges flow
unum_constructs unum_compiler.analysis: changes waits
unum_constructs.compiler unum_compiler.services: started=started_workflows service_actions service_arns
unum_constructs.compiler unum_compiler.services: service_models service_permissions
unum_constructs.compiler unum_compiler.services: services=service_tasks task_permissions dataset_permissions
unum_constructs.frontends unum_compiler.frontends: chainable extensions files from_ir ir_check ir_schema keys
unum_constructs.frontends unum_compiler.frontends: substitutions values yaml_text graph
unum_constructs unum_compiler: frontends
unum_constructs.frontends.graph unum_compiler.frontends.graph: expressions=graph_expressions nodes render
unum_constructs unum_compiler.cost: cost=estimate prices receipt skeleton
unum_constructs unum_cli: cli=main commands
unum_constructs.commands unum_cli.commands: compilation completion control cost dead_letters diff executions
unum_constructs.commands unum_cli.commands: failure=command_errors given=arguments graph handlers history
unum_constructs.commands unum_cli.commands: listing=list_executions local map_runs receipt=cost schema
unum_constructs.commands unum_cli.commands: shown=printing single=state_test stack states=single_states tasks
unum_constructs.commands unum_cli.commands: validation watch
unum_constructs unum_constructs.cdk: resource=lookup kinds=argument_checks placed=resource_checks acknowledgments=nag
unum_constructs unum_constructs.cdk: outputs queues encryption python=lambda_runtimes
unum_constructs unum_constructs.layer: layer_content=content bytecode bare=strip interpreters
unum_constructs unum_constructs.hosting: environment version=version_ids host
unum_constructs unum_constructs.resources: payloads=payload_bucket provided=own_functions permissions schedules timer
unum_constructs unum_constructs.resources: failure_handler callbacks=activities task_response_url=doors
unum_constructs unum_constructs.resources: calling=service_calls
unum_constructs unum_constructs.assembly: wiring cross_stack wrapping program=binding
unum_constructs unum_constructs.assembly: settings=options size=template_size services=service_grants
unum_constructs unum_constructs.monitoring: alarms dashboard
"""
"""Lines with an old and a current package, and their modules: `old=current` for a renamed module."""


def former_names() -> dict[str, str]:
    """Return the current name of each moved module by its old name."""
    return parse_names(_MOVED)
