"""Properties of AWS::Lambda::Function that ministack's CloudFormation ignores or handles differently.

ReservedConcurrentExecutions and RecursiveLoop are settings of the function, not of its configuration. They take effect
at creation and at every update; a missing property resets the setting.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-lambda-function.html
"""

from collections.abc import Mapping
from typing import Any

from ministack.services import lambda_svc
from ministack.services.cloudformation import provisioners

from unum_emulator.patching import replace


def install() -> None:
    """Extend creation and update of functions."""
    _name_inline_code()
    handlers = provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"]
    create, update = handlers["create"], handlers["update"]

    def create_function(logical_id: str, props: Mapping[str, Any], stack_name: str) -> Any:
        created = create(logical_id, props, stack_name)
        _apply(created[0], props)
        return created

    def update_function(
        physical_id: str,
        old_props: Mapping[str, Any],
        new_props: Mapping[str, Any],
        stack_name: str,
        logical_id: str | None = None,
    ) -> Any:
        updated = update(physical_id, old_props, new_props, stack_name, logical_id)
        _apply(updated[0], new_props)
        return updated

    handlers["create"], handlers["update"] = create_function, update_function


def _name_inline_code() -> None:
    """Name the file of inline code `index`, as AWS does; ministack names it after the handler's module."""
    original = replace(provisioners, "_zip_inline", None)

    def zip_inline(source: str | None, _handler: str, runtime: str = "python3.12") -> bytes | None:
        archive: bytes | None = original(source, "index.handler", runtime)
        return archive

    replace(provisioners, "_zip_inline", zip_inline)


def _apply(name: str, props: Mapping[str, Any]) -> None:
    record = lambda_svc._functions[name]
    reserved = props.get("ReservedConcurrentExecutions")
    # Assigned even if absent: an update that removes the property removes the setting.
    record["concurrency"] = None if reserved is None else int(reserved)
    record["recursive_loop"] = props.get("RecursiveLoop", "Terminate")
