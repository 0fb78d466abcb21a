"""Environment variables and import path of a function's process.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html (the deployment package comes before layers, layers
before the runtime's libraries). ministack puts layers first, and passes its own environment on. Functions here inherit
nothing; layers have a separate directory, so code must not assume /opt.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from unum_emulator.aws_lambda.function import FunctionVersion


def function_environment(
    function: FunctionVersion, *, home: Path, task: Path, layers: Path, runtime: Path, endpoint: str
) -> dict[str, str]:
    """Return all variables of a process, except the address of its Runtime API and its log stream.

    Args:
        function: the function; its own variables take precedence, except Lambda's reserved names.
        home: private directory, in place of /tmp and the caller's home, which other processes share.
        task: directory of the function's code.
        layers: directory of the merged layers.
        runtime: directory of the managed runtime's libraries.
        endpoint: AWS endpoint for the SDKs.
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
