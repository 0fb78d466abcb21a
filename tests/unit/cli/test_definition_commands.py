"""``unum compile``, ``validate``, ``graph`` and ``schema``."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unum_runtime.model.ir import Workflow

UNUM = "import sys; from unum_cli.main import main; sys.exit(main(sys.argv[1:]))"
GOOD = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "F", "End": True}}}
ROLE = {"RoleArn": "arn:aws:iam::1:role/r"}
ACTIVITY = "arn:aws:states:eu-west-1:111111111111:activity:a"
CATCH = [{"ErrorEquals": ["States.ALL"], "Next": "W"}]
BAD = {
    "StartAt": "A",
    "States": {
        "A": {"Type": "Task", "Resource": ACTIVITY, "Next": "B", "Catch": CATCH, "Credentials": ROLE},
        "W": {"Type": "Succeed"},
    },
}


@pytest.fixture(autouse=True)
def definitions(unum: Any, file: Callable[..., Path]) -> None:  # noqa: ARG001 - unum goes to the directory
    file("orders.asl.json", GOOD)
    file("bad.json", BAD)
    file("syntax.json", '{"StartAt":\n  A}')
    file("binary.json", "")
    Path("binary.json").write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize("form", ["text", "json"])
def test_compile_prints_what_the_runtime_reads(unum: Any, form: str) -> None:
    ran = unum("compile", "orders.asl.json", "--format", form)
    assert (ran.code, ran.err) == (0, "")
    workflow = Workflow.from_json(ran.out)
    assert (workflow.name, list(workflow.states)) == ("orders", ["A"])
    assert (len(ran.out.splitlines()) == 1) == (form == "json")


def test_a_folder_is_an_application_of_the_original(unum: Any) -> None:
    folder = Path(__file__).parents[3] / "docs" / "snippets" / "migration" / "unum"
    assert unum("validate", str(folder)).out == f"{folder}: valid\n"
    assert "Price (Map)" in unum("graph", str(folder), "--format", "mermaid").out
    copied = Path(shutil.copytree(folder, "invoices"))
    (copied / "price" / "unum_config.json").write_text('{"Next": "Totals"}')
    ran = unum("validate", "invoices")
    assert ran.code == 1
    assert ran.out == 'invoices/price/unum_config.json: $.Next: there is no function "Totals"; did you mean "Total"?\n'


def test_the_workflow_can_be_named(unum: Any) -> None:
    assert Workflow.from_json(unum("compile", "orders.asl.json", "--name", "w").out).name == "w"


@pytest.mark.parametrize("name", ["two words", "größe", "", "x" * 81])
def test_a_name_that_no_workflow_has(unum: Any, name: str) -> None:
    ran = unum("compile", "orders.asl.json", "--name", name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"--name: expected 1 to 80 characters from A-Z a-z 0-9 - _, got {name!r}\n"


@pytest.mark.parametrize(
    ("named", "name"), [("two words.asl.json", "two-words"), ("Größe.json", "Gr-e"), (f"{'x' * 99}.json", "x" * 80)]
)
def test_the_name_of_a_file_becomes_one_of_a_workflow(unum: Any, file: Any, named: str, name: str) -> None:
    file(named, GOOD)
    assert Workflow.from_json(unum("compile", named).out).name == name


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_what_is_piped_is_utf_8_whatever_the_locale_is(file: Any, encoding: str) -> None:
    file("greeting.json", {"StartAt": "Größe", "States": {"Größe": {"Type": "Pass", "Result": "🎉", "End": True}}})
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for arguments in (("compile",), ("compile", "--json"), ("graph",), ("graph", "--format", "mermaid")):
        command = (sys.executable, "-c", UNUM, *arguments, "greeting.json")
        ran = subprocess.run(command, capture_output=True, check=True, env=environment)  # noqa: S603 - ours
        assert "Größe" in ran.stdout.decode("utf-8")


def test_what_comes_by_a_pipe_is_utf_8_too(file: Any) -> None:
    file("greeting.json", GOOD)
    file("code.py", "def F(event, context): return event")
    command = (sys.executable, "-c", UNUM, "run", "greeting.json", "--functions", "code.py", "--input", "-")
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    given = '\ufeff"Größe"\r\n'.encode()
    ran = subprocess.run(command, input=given, capture_output=True, check=True, env=environment)  # noqa: S603 - ours
    assert json.loads(ran.stdout) == "Größe"


def test_lines_may_end_as_on_windows(unum: Any) -> None:
    Path("windows.yaml").write_bytes(
        b"\xef\xbb\xbfStartAt: A\r\nStates:\r\n  A:\r\n    Type: Pass\r\n    End: true\r\n"
    )
    Path("windows.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD, indent=1).replace("\n", "\r\n").encode())
    assert unum("validate", "windows.yaml", "windows.json").out == "windows.yaml: valid\nwindows.json: valid\n"


def test_compile_says_every_problem_on_a_line_with_file_and_path(unum: Any) -> None:
    ran = unum("compile", "bad.json")
    assert (ran.code, ran.out) == (1, "")
    lines = ran.err.splitlines()
    assert all(re.match(r"bad\.json:\d+: \$", line) for line in lines)
    assert any(line.startswith("bad.json:1: $.States.A.Next: ") and '"B"' in line for line in lines)
    assert any(line.startswith("bad.json:1: $.States.A.Credentials: Credentials: ") for line in lines)


def test_problems_can_be_had_as_json(unum: Any) -> None:
    ran = unum("compile", "bad.json", "--format", "json")
    problems = json.loads(ran.err)
    assert ran.code == 1
    assert {"bad.json"} == {problem["file"] for problem in problems}
    assert ("$.States.A.Credentials", "Credentials") in {(problem["path"], problem["feature"]) for problem in problems}


def test_a_syntax_error_has_line_and_column(unum: Any) -> None:
    ran = unum("compile", "syntax.json")
    assert ran.code == 1
    assert ran.err.startswith("syntax.json:2:3: expected JSON")


@pytest.mark.parametrize("command", ["compile", "graph"])
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (
            "nowhere.json",
            2,
            "nowhere.json: cannot be read: No such file or directory; expected a file with a definition",
        ),
        (".", 1, ".: $: expected a file unum-template.yaml, found none"),
        ("binary.json", 1, "binary.json: expected text in UTF-8"),
        ("bad.json", 1, "bad.json:1: $.States.A.Next: "),
    ],
)
def test_what_is_no_definition(unum: Any, command: str, name: str, code: int, said: str) -> None:
    ran = unum(command, name)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_graph_writes_svg(unum: Any) -> None:
    printed = unum("graph", "orders.asl.json")
    written = unum("graph", "orders.asl.json", "-o", "pictures/orders.svg")
    assert (printed.code, written.code, written.out) == (0, 0, "")
    assert printed.out.startswith("<svg ")
    assert Path("pictures/orders.svg").read_text(encoding="utf-8") == printed.out


def test_graph_writes_a_flowchart(unum: Any) -> None:
    assert unum("graph", "orders.asl.json", "--format", "mermaid").out.splitlines() == [
        "flowchart TD",
        "    start(( ))",
        '    s0["A<br/>F"]',
        "    finish(( ))",
        "    start --> s0",
        "    s0 --> finish",
    ]


def test_what_was_compiled_can_be_given_instead(unum: Any, file: Callable[..., Path]) -> None:
    compiled = unum("compile", "orders.asl.json").out
    file("orders.ir.json", compiled)
    assert unum("compile", "orders.ir.json").out == compiled
    assert unum("graph", "orders.ir.json").out == unum("graph", "orders.asl.json").out


def test_validate_reports_every_file(unum: Any) -> None:
    ran = unum("validate", "orders.asl.json", "bad.json", "syntax.json")
    assert (ran.code, ran.err) == (1, "2 of 3 definitions cannot be compiled\n")
    lines = ran.out.splitlines()
    assert lines[0] == "orders.asl.json: valid"
    assert [line.partition(": ")[0] for line in lines[1:]] == ["bad.json:1", "bad.json:1", "syntax.json:2:3"]


def test_validate_is_content_with_what_is_valid(unum: Any) -> None:
    ran = unum("validate", "orders.asl.json")
    assert (ran.code, ran.out, ran.err) == (0, "orders.asl.json: valid\n", "")


def test_of_what_cannot_be_read_nothing_is_printed(unum: Any) -> None:
    ran = unum("validate", "nowhere.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("nowhere.json: cannot be read: ")


def test_validate_in_json_names_file_path_and_feature(unum: Any) -> None:
    ran = unum("validate", "orders.asl.json", "bad.json", "nowhere.json", "--format", "json")
    good, bad, nowhere = json.loads(ran.out)
    assert ran.code == 2
    assert good == {"file": "orders.asl.json", "valid": True, "problems": [], "warnings": []}
    assert [(problem["path"], problem["feature"]) for problem in bad["problems"]] == [
        ("$.States.A.Next", None),
        ("$.States.A.Credentials", "Credentials"),
    ]
    assert nowhere["unreadable"] in ran.err
    assert not nowhere["valid"]


STRICT = {
    "StartAt": "A",
    "States": {
        "A": {"Type": "Pass", "InputPath": "$.a[-1]", "Parameters": {"r.$": "$$.Execution.RoleArn"}, "End": True}
    },
}


def test_strict_names_the_lines_that_differ_from_step_functions(unum: Any) -> None:
    Path("loose.json").write_text(json.dumps(STRICT, indent=1), encoding="utf-8")
    assert unum("validate", "loose.json", "orders.asl.json").code == 0
    ran = unum("validate", "--strict", "loose.json", "orders.asl.json")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0].startswith("loose.json:6: $.States.A.InputPath: index from the end: refused by compatibility=")
    assert lines[1].startswith("loose.json:8: $.States.A.Parameters['r.$']: Execution.RoleArn: refused by compatib")
    assert lines[2:] == ["orders.asl.json: valid"]
    (found, _) = json.loads(unum("validate", "--strict", "loose.json", "orders.asl.json", "--format", "json").out)
    assert [problem["line"] for problem in found["problems"]] == [6, 8]


def test_strict_compiles_with_the_quotas_of_step_functions(unum: Any, file: Callable[..., Path]) -> None:
    compiled = json.loads(unum("compile", "orders.asl.json", "--strict", "--format", "json").out)
    assert (compiled["strict"], compiled["payload_limit"], compiled["hop_budget"]) == (True, 262_144, 5_000)
    file("loose.json", STRICT)
    assert unum("compile", "loose.json", "--strict").code == 1


def test_validate_tells_what_is_hardly_meant(unum: Any, file: Callable[..., Path]) -> None:
    retry = [{"ErrorEquals": ["States.TimeOut"]}]
    file(
        "hardly.json", {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "F", "End": True, "Retry": retry}}}
    )
    ran = unum("validate", "hardly.json")
    place = "$.States.A.Retry[0].ErrorEquals[0]"
    assert (ran.code, ran.err) == (0, "")
    valid, warning = ran.out.splitlines()
    assert valid == "hardly.json: valid"
    assert warning.startswith(f"hardly.json: warning UNKNOWN_ERROR: {place}: ")
    (listed,) = json.loads(unum("validate", "hardly.json", "--format", "json").out)
    assert [(each["code"], each["path"]) for each in listed["warnings"]] == [("UNKNOWN_ERROR", place)]


def test_schema_is_that_of_what_is_compiled(unum: Any) -> None:
    schema = json.loads(unum("schema").out)
    compiled = json.loads(unum("compile", "orders.asl.json").out)
    assert set(schema["required"]) <= compiled.keys() <= schema["properties"].keys()


def test_a_picture_that_cannot_be_written_leaves_nothing(unum: Any) -> None:
    Path("taken").mkdir()
    ran = unum("graph", "orders.asl.json", "-o", "taken")
    assert ran.code == 1
    assert ran.err.startswith("taken: cannot be written: ")
    assert not Path(".taken.new").exists()


@pytest.mark.parametrize("arguments", [(), ("compile",), ("compile", "x", "--format", "yaml"), ("fly",)])
def test_a_command_line_that_does_not_fit(unum: Any, arguments: tuple[str, ...]) -> None:
    ran = unum(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "usage: unum" in ran.err


def test_help_is_no_error(unum: Any) -> None:
    ran = unum("--help")
    assert ran.code == 0
    assert "Exit codes" in ran.out


def test_compile_loads_nothing_that_it_does_not_need() -> None:
    code = (
        "import sys; from unum_cli.main import main; main(['compile', 'orders.asl.json']); "
        "needless = {'aws_cdk', 'jsii', 'boto3', 'botocore', 'jsonata', 'jsonschema', 'yaml'} & sys.modules.keys(); "
        "print(sorted(needless), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert ran.stderr == "[]\n"
