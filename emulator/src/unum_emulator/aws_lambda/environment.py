"""The environment variables and the path of a function's process.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html (the deployment package comes before layers,
layers before the runtime's libraries). ministack puts layers first, and hands its own environment on.
Nothing is inherited here; layers are at a directory of their own, so code must not assume /opt.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from unum_emulator.aws_lambda.function import FunctionVersion


def function_environment(
    function: FunctionVersion, *, home: Path, task: Path, layers: Path, runtime: Path, endpoint: str
) -> dict[str, str]:
    """Return all variables of a process, except for the address of its Runtime API and its log stream.

    Args:
        function: what runs; its own variables win, except where Lambda reserves the name.
        home: a private directory; /tmp and the caller's home are shared with the machine and hidden.
        task: the function's code.
        layers: the merged content of its layers.
        runtime: the managed runtime's libraries.
        endpoint: where the SDKs find AWS.
    """
    defaults = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": str(home),
        "LANG": "en_US.UTF-8",
        "PATH": os.pathsep.join([os.defpath, str(layers / "bin")]),
        "LD_LIBRARY_PATH": os.pathsep.join([str(task), str(task / "lib"), str(layers / "lib")]),
        "TMPDIR": str(home),
        "TZ": ":UTC",
    }
    path = [str(entry) for entry in (task, *_layer_paths(layers, function.runtime))]
    path += filter(None, [function.variables.get("PYTHONPATH")])
    return {
        **defaults,
        **function.variables,
        "PYTHONPATH": os.pathsep.join([*path, str(runtime)]),
        **_reserved(function, task=task, runtime=runtime),
    }


def _layer_paths(layers: Path, runtime: str) -> tuple[Path, Path]:
    return layers / "python" / "lib" / runtime / "site-packages", layers / "python"


def _reserved(function: FunctionVersion, *, task: Path, runtime: Path) -> Mapping[str, str]:
    return {
        **function.credentials,
        "_HANDLER": function.handler,
        "AWS_DEFAULT_REGION": function.ref.region,
        "AWS_REGION": function.ref.region,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{function.runtime}",
        "AWS_LAMBDA_FUNCTION_NAME": function.ref.name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
        "AWS_LAMBDA_FUNCTION_VERSION": function.version,
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": function.log_group,
        "LAMBDA_TASK_ROOT": str(task),
        "LAMBDA_RUNTIME_DIR": str(runtime),
    }
