"""A handler's view and its caller's view of an invocation."""

import json
from typing import Any

import pytest

CONTEXT = """
    import os

    def handler(event, context):
        return {
            "arn": context.invoked_function_arn,
            "version": context.function_version,
            "request_id": context.aws_request_id,
            "remaining_ms": context.get_remaining_time_in_millis(),
            "stream": context.log_stream_name,
            "group": context.log_group_name,
            "memory": context.memory_limit_in_mb,
        }
"""


def test_the_context_shows_the_invoked_qualifier_and_the_running_version(cloud: Any) -> None:
    name = cloud.function(CONTEXT, Publish=True, Timeout=7)
    cloud.awslambda.create_alias(FunctionName=name, Name="start", FunctionVersion="1")

    by_version, _ = cloud.invoke(f"{name}:1")
    by_alias, answer = cloud.invoke(name, Qualifier="start")
    unqualified, _ = cloud.invoke(name)

    assert by_version["arn"].endswith(f":{name}:1")
    assert by_alias["arn"].endswith(f":{name}:start")
    assert unqualified["arn"].endswith(f":{name}")
    assert (by_version["version"], by_alias["version"], unqualified["version"]) == ("1", "1", "$LATEST")
    assert by_alias["request_id"] == answer["ResponseMetadata"]["RequestId"]
    assert answer["ExecutedVersion"] == "1"
    assert 6000 < by_alias["remaining_ms"] <= 7000


def test_a_version_keeps_its_code_and_its_process(cloud: Any) -> None:
    name = cloud.function("def handler(event, context): return 'old'", Publish=True)
    assert cloud.invoke(f"{name}:1")[0] == "old"
    cloud.awslambda.update_function_code(FunctionName=name, ZipFile=cloud.archive("def handler(*_): return 'new'"))
    assert (cloud.invoke(f"{name}:1")[0], cloud.invoke(name)[0]) == ("old", "new")


def test_errors_carry_the_exceptions_class_and_leave_the_process_warm(cloud: Any) -> None:
    name = cloud.function("""
        import os

        class OrderRejected(Exception):
            pass

        def handler(event, context):
            if event:
                raise OrderRejected(event)
            return os.getpid()
    """)
    before, _ = cloud.invoke(name)
    error, answer = cloud.invoke(name, "no money")
    after, _ = cloud.invoke(name)

    assert answer["FunctionError"] == "Unhandled"
    assert (error["errorType"], error["errorMessage"]) == ("OrderRejected", "no money")
    assert "index.py" in error["stackTrace"][0]
    assert before == after


def test_an_init_error_names_the_missing_module(cloud: Any) -> None:
    error, _ = cloud.invoke(cloud.function("import missing_library"))
    assert error["errorType"] == "Runtime.ImportModuleError"
    assert "missing_library" in error["errorMessage"]


def test_a_crash_is_reported_and_the_next_call_gets_a_new_process(cloud: Any) -> None:
    name = cloud.function("""
        import os

        def handler(event, context):
            if event == "crash":
                os._exit(3)
            return "fine"
    """)
    error, answer = cloud.invoke(name, "crash")
    assert error["errorType"] == "Runtime.ExitError"
    assert error["errorMessage"].endswith("Runtime exited with error: exit status 3")
    assert answer["ResponseMetadata"]["RequestId"] in error["errorMessage"]
    assert cloud.invoke(name)[0] == "fine"


def test_a_timeout_kills_the_handler_and_its_children(cloud: Any, processes: Any) -> None:
    name = cloud.function(
        """
        import os, subprocess, time

        def handler(event, context):
            child = subprocess.Popen(["sleep", "60"])
            print("child", child.pid, flush=True)
            time.sleep(60)
        """,
        Timeout=1,
    )
    error, _ = cloud.invoke(name)
    assert error["errorType"] == "Sandbox.Timedout"
    assert error["errorMessage"].endswith("Task timed out after 1.00 seconds")
    log = (cloud.emulator.logs / f"{name}.log").read_text()
    child = int(log.split("child ")[1].split()[0])
    processes.wait_for_end_of(child)


def test_too_much_memory_kills_the_handler(cloud: Any) -> None:
    name = cloud.function(
        """
        import time

        def handler(event, context):
            held = bytearray(300 * 1024 * 1024)
            time.sleep(10)
        """,
        MemorySize=128,
        Timeout=20,
    )
    error, _ = cloud.invoke(name)
    assert error["errorType"] == "Runtime.OutOfMemory"


def test_function_code_comes_before_layers_and_layers_before_the_runtime(cloud: Any) -> None:
    layer = cloud.layer({"python/shared.py": "ORIGIN = 'layer'", "python/own.py": "ORIGIN = 'layer'", "data/x": "1"})
    second = cloud.layer({"python/own.py": "ORIGIN = 'second layer'", "python/boto3.py": "ORIGIN = 'second layer'"})
    name = cloud.function(
        """
        import os
        import boto3, own, shared

        def handler(event, context):
            return [shared.ORIGIN, own.ORIGIN, boto3.ORIGIN, shared.__file__, own.__file__]
        """,
        Layers=[layer, second],
        files={"shared.py": "ORIGIN = 'function'"},
    )
    origins = cloud.invoke(name)[0]
    assert origins[:3] == ["function", "second layer", "second layer"]
    assert not any(path.startswith("/opt") for path in origins[3:])


def test_a_handler_may_be_in_a_layer(cloud: Any) -> None:
    layer = cloud.layer({"python/package/__init__.py": "", "python/package/entry.py": "def run(e, c): return 'layer'"})
    assert cloud.invoke(cloud.function("", Layers=[layer], Handler="package.entry.run"))[0] == "layer"


def test_functions_can_import_only_the_managed_runtime(cloud: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "stray")
    name = cloud.function(
        """
        import importlib.util, os
        import boto3

        def handler(event, context):
            found = [m for m in ("boto3", "botocore", "ministack", "hypercorn", "unum_emulator")
                     if importlib.util.find_spec(m)]
            identity = boto3.client("sts").get_caller_identity()["Account"]
            return found, identity, dict(os.environ), os.getcwd()
        """,
        Environment={"Variables": {"MINE": "1", "AWS_LAMBDA_FUNCTION_NAME": "forged"}},
    )
    found, account, variables, folder = cloud.invoke(name)[0]
    assert found == ["boto3", "botocore"]
    assert account == "000000000000"
    assert variables["MINE"] == "1"
    assert variables["AWS_LAMBDA_FUNCTION_NAME"] == name
    assert variables["_HANDLER"] == "index.handler"
    assert variables["LAMBDA_TASK_ROOT"] == folder
    assert not {"AWS_PROFILE", "VIRTUAL_ENV", "GATEWAY_PORT"} & variables.keys()


def test_output_goes_to_the_function_s_stream_and_file(cloud: Any) -> None:
    source = "def handler(event, context):\n    print('hello', event)\n    return context.log_stream_name"
    name = cloud.function(source)
    stream, answer = cloud.invoke(name, "world")
    events = cloud.logs.get_log_events(logGroupName=f"/aws/lambda/{name}", logStreamName=stream)["events"]
    messages = [event["message"] for event in events]
    request_id = answer["ResponseMetadata"]["RequestId"]
    assert messages[0] == f"START RequestId: {request_id} Version: $LATEST"
    assert messages[1] == "hello world"
    assert messages[2] == f"END RequestId: {request_id}"
    assert messages[3].startswith(f"REPORT RequestId: {request_id}\tDuration: ")
    assert "hello world" in (cloud.emulator.logs / f"{name}.log").read_text()


def test_a_configured_log_group_is_used(cloud: Any) -> None:
    source = "def handler(event, context):\n    print('mine')\n    return context.log_group_name"
    name = cloud.function(source, LoggingConfig={"LogGroup": "shared-group", "LogFormat": "Text"})
    assert cloud.invoke(name)[0] == "shared-group"
    found = cloud.logs.filter_log_events(logGroupName="shared-group")["events"]
    assert "mine" in [event["message"] for event in found]


@pytest.mark.parametrize(("kind", "limit"), [("Event", 1024 * 1024), ("RequestResponse", 6 * 1024 * 1024)])
def test_payloads_above_the_quota_are_refused(cloud: Any, kind: str, limit: int) -> None:
    name = cloud.function("def handler(event, context): return len(event)")
    fits = json.dumps("x" * (limit - 2))
    assert cloud.awslambda.invoke(FunctionName=name, InvocationType=kind, Payload=fits)["StatusCode"] in {200, 202}
    with pytest.raises(cloud.awslambda.exceptions.ClientError, match=f"limit {limit} bytes") as refused:
        cloud.awslambda.invoke(FunctionName=name, InvocationType=kind, Payload=fits + " ")
    assert refused.value.response["Error"]["Code"] == "RequestEntityTooLargeException"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413


def test_a_payload_that_is_not_json_is_refused(cloud: Any) -> None:
    name = cloud.function("def handler(event, context): return event")
    with pytest.raises(cloud.awslambda.exceptions.InvalidRequestContentException):
        cloud.awslambda.invoke(FunctionName=name, Payload=b"{")


def test_a_response_above_the_quota_is_an_error(cloud: Any) -> None:
    name = cloud.function("def handler(event, context): return 'x' * (6 * 1024 * 1024 + 200)")
    assert cloud.invoke(name)[0]["errorType"] == "Function.ResponseSizeTooLarge"


def test_a_function_may_wait_for_itself_beyond_the_bound_of_processes(cloud: Any) -> None:
    name = cloud.function(
        """
        import json, boto3

        def handler(event, context):
            if not event:
                return 0
            answer = boto3.client("lambda").invoke(FunctionName=context.function_name, Payload=json.dumps(event - 1))
            return 1 + json.load(answer["Payload"])
        """,
        Timeout=60,
    )
    assert cloud.invoke(name, 9)[0] == 9


def test_functions_start_programs_of_layers_below_opt(cloud: Any) -> None:
    layer = cloud.layer({"tool/run": "#!/var/lang/bin/python\nprint('from a layer')\n"})
    source = """
        import subprocess

        def handler(event, context):
            return subprocess.check_output(["/opt/tool/run"], text=True)
    """
    assert cloud.invoke(cloud.function(source, Layers=[layer]))[0] == "from a layer\n"


def test_function_without_a_runtime_here_fails(cloud: Any) -> None:
    body, answer = cloud.invoke(cloud.function("", Runtime="ruby3.4"))
    assert answer["FunctionError"] == "Unhandled"
    assert body == {"errorType": "Runtime.Unavailable", "errorMessage": "ruby3.4 not supported for local execution"}
