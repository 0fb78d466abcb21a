"""Layer with boto3's client for answers by task token, for functions outside of workflows."""

from importlib.util import find_spec
from pathlib import Path
from weakref import WeakKeyDictionary

from aws_cdk import Annotations, Stack
from aws_cdk import aws_lambda as lambda_

from unum_constructs.cdk.lookup import stack_of
from unum_constructs.layer.assembly_files import write_files
from unum_constructs.layer.content import digest
from unum_constructs.layer.strip import strip_source

PACKAGE = "unum_task_responses"
ALIASES = "UNUM_TASK_RESPONSES"
"""Environment variable with the ARNs of response aliases, separated by commas."""

NO_LAYER = "unum:noTaskResponsesLayer"
"""Id of the message about a function that has no room for the layer."""


def equip(function: lambda_.Function, alias_arn: str) -> None:
    """Give `function` the client, if it is Python, and the address of one more workflow whose Tasks it answers."""
    if function.runtime.family != lambda_.RuntimeFamily.PYTHON:
        return
    aliases = _aliases.setdefault(function, {})
    if not aliases:
        _add_layer(function)
    aliases[alias_arn] = None
    # Lambda@Edge takes no variables.
    function.add_environment(ALIASES, ",".join(aliases), remove_in_edge=True)


def _add_layer(function: lambda_.Function) -> None:
    stack = stack_of(function)
    if stack not in _layers:
        files = {f"python/{PACKAGE}/__init__.py": strip_source(_source())}
        named = digest(files, "")
        _layers[stack] = lambda_.LayerVersion(
            stack,
            "UnumTaskResponses",
            code=lambda_.Code.from_asset(str(write_files(stack, files, named)), asset_hash=named),
            description="Client for answers to Tasks of Unum workflows",
        )
    try:
        function.add_layers(_layers[stack])
    except RuntimeError as error:  # it has five layers, which is Lambda's maximum
        Annotations.of(function).add_info_v2(
            NO_LAYER, f"{error}; add the package {PACKAGE} (pip install unum-runtime) to its code to answer Tasks"
        )


def _source() -> bytes:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed; install the wheel unum-runtime")
    return Path(spec.origin).read_bytes().replace(b"\r\n", b"\n")


_aliases: WeakKeyDictionary[lambda_.Function, dict[str, None]] = WeakKeyDictionary()
_layers: WeakKeyDictionary[Stack, lambda_.LayerVersion] = WeakKeyDictionary()
