"""Apps with state machines become apps with workflows; what is not about them stays byte for byte."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

pytest.importorskip("libcst")

from tests.synth.test_task_classes import REFUSED
from unum_cli.migration import decisions
from unum_cli.migration.rewriting import rewrite

UNUM = "from unum_constructs import UnumWorkflow\n"

MOVED = r'''
=== module by alias
from aws_cdk import aws_stepfunctions as sfn
sfn.StateMachine(s, 'M', definition_body=sfn.Body())
--- becomes
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import UnumWorkflow
UnumWorkflow(s, 'M', definition_body=sfn.Body())
=== class
from aws_cdk.aws_stepfunctions import Chain, StateMachine
StateMachine(s, 'M', definition=Chain())
--- becomes
from aws_cdk.aws_stepfunctions import Chain
from unum_constructs import UnumWorkflow
UnumWorkflow(s, 'M', definition=Chain())
=== class by alias, alone
import os
from aws_cdk.aws_stepfunctions import StateMachine as M
M(s, 'M')
--- becomes
import os
from unum_constructs import UnumWorkflow
UnumWorkflow(s, 'M')
=== dotted import
import aws_cdk.aws_stepfunctions
aws_cdk.aws_stepfunctions.StateMachine(s, 'M')
--- becomes
import aws_cdk.aws_stepfunctions
from unum_constructs import UnumWorkflow
UnumWorkflow(s, 'M')
=== dotted import by alias
import aws_cdk.aws_stepfunctions as x
x.StateMachine(s, 'M', definition=x.Pass(s, 'P'))
--- becomes
import aws_cdk.aws_stepfunctions as x
from unum_constructs import UnumWorkflow
UnumWorkflow(s, 'M', definition=x.Pass(s, 'P'))
=== package by alias
import aws_cdk as cdk
cdk.aws_stepfunctions.StateMachine(s, 'M')
--- becomes
import aws_cdk as cdk
from unum_constructs import UnumWorkflow
UnumWorkflow(s, 'M')
=== import of several lines
from aws_cdk import (
    Stack,
    aws_stepfunctions as sfn,
    aws_sqs as sqs,  # queues
)

sfn.StateMachine(Stack(), 'M')
--- becomes
from aws_cdk import (
    Stack,
    aws_sqs as sqs,  # queues
)
from unum_constructs import UnumWorkflow

UnumWorkflow(Stack(), 'M')
=== two names of one import
from aws_cdk.aws_stepfunctions import IStateMachine, StateMachine, Pass
def f(m: IStateMachine) -> StateMachine: return Pass
--- becomes
from aws_cdk.aws_stepfunctions import Pass
from unum_constructs import IUnumWorkflow, UnumWorkflow
def f(m: IUnumWorkflow) -> UnumWorkflow: return Pass
=== import within a function
import os

def f(s):
    from aws_cdk import aws_stepfunctions as sfn
    sfn.StateMachine(s, 'M')
    return sfn.Pass
--- becomes
import os
from unum_constructs import UnumWorkflow

def f(s):
    from aws_cdk import aws_stepfunctions as sfn
    UnumWorkflow(s, 'M')
    return sfn.Pass
=== no import at the top
"""App."""

def f(s):
    import aws_cdk
    aws_cdk.aws_stepfunctions.StateMachine(s, "M")
--- becomes
"""App."""

from unum_constructs import UnumWorkflow

def f(s):
    import aws_cdk
    UnumWorkflow(s, "M")
=== annotations in strings
import typing as t
from aws_cdk import aws_stepfunctions as sfn
def f(m: 't.Optional[sfn.IStateMachine]', n: list['sfn.StateMachine']) -> sfn.Chain: ...
--- becomes
import typing as t
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import IUnumWorkflow, UnumWorkflow
def f(m: 't.Optional[IUnumWorkflow]', n: list['UnumWorkflow']) -> sfn.Chain: ...
=== comments and odd blanks
from aws_cdk import aws_stepfunctions as sfn # sfn.StateMachine


x = ( sfn . StateMachine ) ( s,'M' ,

   timeout = t) ;y=1 # sfn.StateMachine
sfn.Pass
--- becomes
from aws_cdk import aws_stepfunctions as sfn # sfn.StateMachine
from unum_constructs import UnumWorkflow


x = ( UnumWorkflow ) ( s,'M' ,

   timeout = t) ;y=1 # sfn.StateMachine
sfn.Pass
=== own imports below
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from shop import orders

sfn.StateMachine(s, 'M', definition=sfn.Pass(s, 'P'))
--- becomes
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct
from unum_constructs import UnumWorkflow

from shop import orders

UnumWorkflow(s, 'M', definition=sfn.Pass(s, 'P'))
=== import that sorts later
from aws_cdk import aws_stepfunctions as sfn
import yaml
sfn.StateMachine(s, 'M', definition=sfn.P())
--- becomes
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import UnumWorkflow
import yaml
UnumWorkflow(s, 'M', definition=sfn.P())
=== import from Unum
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import Store, start_event
sfn.StateMachine(s, 'M', definition=sfn.P())
--- becomes
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import Store, UnumWorkflow, start_event
UnumWorkflow(s, 'M', definition=sfn.P())
=== only name from Unum
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import Store
sfn.StateMachine(s, 'M', definition=sfn.P())
--- becomes
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import Store, UnumWorkflow
UnumWorkflow(s, 'M', definition=sfn.P())
=== list of names from Unum
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import (
    Definition,
    Store,
)
sfn.StateMachine(s, 'M', definition=sfn.P())
--- becomes
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import (
    Definition,
    Store,
    UnumWorkflow,
)
UnumWorkflow(s, 'M', definition=sfn.P())
=== import of the class
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import UnumWorkflow
sfn.StateMachine(s, 'M', definition=sfn.P())
--- becomes
from aws_cdk import aws_stepfunctions as sfn
from unum_constructs import UnumWorkflow
UnumWorkflow(s, 'M', definition=sfn.P())
=== import and use on one line
import aws_cdk as cdk; cdk.aws_stepfunctions.StateMachine(s, 'M')
--- becomes
from unum_constructs import UnumWorkflow

import aws_cdk as cdk; UnumWorkflow(s, 'M')
'''
"""Files before and after."""

CASES = {
    name: tuple(text.split("--- becomes\n"))
    for name, _, text in (each.partition("\n") for each in MOVED.split("=== ")[1:])
}

UNTOUCHED = {
    "other library": "from statemachine import StateMachine\nStateMachine(s, 'M')\n",
    "class of this file": "class StateMachine: ...\nStateMachine(definition=1)\n",
    "attribute of a call": "from aws_cdk.aws_stepfunctions import StateMachine\nf().StateMachine(StateMachine=1)\n",
    "other class": "from aws_cdk import aws_stepfunctions as sfn\nsfn.StateMachineType.STANDARD\nsfn.Map(s, 'M')\n",
    "parameter": "from aws_cdk import aws_stepfunctions as sfn\ndef f(sfn): return sfn.StateMachine(1)\n",
    "grant": "import aws_cdk.aws_stepfunctions\nm.grant_execution(f, 'states:StopExecution')\n",
    "client for answers": "from unum_task_responses import boto3\nclient = boto3.client('stepfunctions')\n",
    "client for starts": "from unum_stepfunctions import boto3\nclient = boto3.client('stepfunctions')\n",
    "name of an error": "import aws_cdk.aws_stepfunctions\nerror = 'AWSStepFunctionsException'\n",
    "text with escapes": "from aws_cdk import aws_stepfunctions as sfn\nx: 'sfn.\\x53tateMachine'\n",
    "targets": "from aws_cdk import aws_events_targets as targets\nr.add_target(targets.SfnStateMachine(m))\n",
}

DECIDED = {
    "sfn.StateMachine.from_state_machine_arn(s, 'I', arn)": "UnumWorkflow.from_workflow_attributes(...)",
    "sfn.CfnStateMachine(s, 'M', role_arn=r)": "CfnStateMachine: a template's state machine",
    "class Own(sfn.StateMachine): ...": "subclass of StateMachine",
    "Machine = sfn.StateMachine": "StateMachine is used as a value",
    "isinstance(x, sfn.IStateMachine)": "IStateMachine is used as a value",
    "states = sfn": "aws_stepfunctions is used as a value",
    "props = sfn.StateMachineProps(definition=d)": "StateMachineProps: `UnumWorkflow` takes no such object",
    "kind = sfn.StateMachineType.EXPRESS": "EXPRESS: changes nothing",
    "cdk.aws_apigateway.StepFunctionsRestApi(s, 'A', state_machine=m)": "LambdaIntegration(workflow.sync_start_alias",
    "cdk.aws_apigateway.StepFunctionsIntegration.start_execution(m)": "LambdaIntegration(workflow.sync_start_alias",
    "cdk.aws_apigateway.AwsIntegration(service='states', action='StartExecution')": "AwsIntegration of Step Functions",
    "cdk.aws_apigatewayv2_integrations.HttpStepFunctionsIntegration('I', state_machine=m)": "HttpLambdaIntegration(ID",
    "i = CfnIntegration(s, 'I', integration_subtype='StepFunctions-StartExecution')": "StepFunctions-Start",
    "Pipe.Parameters(step_function_state_machine_parameters=p)": "write `lambda_function_parameters`",
    "cdk.aws_iam.PolicyStatement(actions=['states:StartExecution'])": "`workflow.grant_execution(grantee, "
    '"states:StartExecution")`',
    "p = {'Action': 'states:*'}": "with each action",
    "ManagedPolicy.from_aws_managed_policy_name('AWSStepFunctionsFullAccess')": "allows nothing for a workflow",
    "client = boto3.client('stepfunctions')": "StepFunctionsClient.connect(...)",
    "client = session.client(service_name='stepfunctions')": "StepFunctionsClient.connect(...)",
    "cr.AwsSdkCall(service='StepFunctions', action='startExecution')": "the custom resource would call Step Functions",
    "template.resource_count_is('AWS::StepFunctions::StateMachine', 1)": "unum_constructs.testing.assert_workflow",
    "importlib.import_module('aws_cdk.aws_stepfunctions')": "is loaded by its name",
    "cdk.aws_stepfunctions_tasks.EmrCreateCluster(s, 'C')": "Unum refuses Tasks of Amazon EMR",
    "from aws_cdk.aws_stepfunctions import *": "a star import may bring StateMachine",
    "from aws_cdk import core": "the CDK 1",
    "x = other.StateMachine(s, 'M', definition_body=b)": "StateMachine of unknown origin",
    "from .common import states; states.StateMachine(s, 'M', definition_body=b)": "StateMachine of unknown origin",
    "from shop import StateMachine; StateMachine(s, 'M', definition_body=b)": "StateMachine of unknown origin",
    "from aws_solutions_constructs.aws_lambda_stepfunctions import L; L(s, 'L')": "makes a StateMachine of its own",
}
"""Lines, and a part of what is said about each."""


@pytest.mark.parametrize("name", CASES)
def test_names_and_imports_move(name: str) -> None:
    before, after = CASES[name]
    found = rewrite(before)
    assert (found.text, found.decisions) == (after, ())
    assert rewrite(after) == (after, 0, ()), "a second time, nothing is left to do"


@pytest.mark.parametrize("name", UNTOUCHED)
def test_other_names_stay_without_a_word(name: str) -> None:
    assert rewrite(UNTOUCHED[name]) == (UNTOUCHED[name], 0, ())


@pytest.mark.parametrize("line", DECIDED)
def test_place_is_reported_and_stays(line: str) -> None:
    text = f"import aws_cdk as cdk\nfrom aws_cdk import aws_stepfunctions as sfn\n\n{line}\n"
    found = rewrite(text)
    assert found.text == text
    ((number, about),) = found.decisions
    assert number == 4
    assert DECIDED[line] in about


def test_import_by_name_moves_and_is_reported() -> None:
    text = "import aws_cdk as cdk\ncdk.aws_stepfunctions.StateMachine.from_state_machine_name(s, 'I', 'm')\n"
    found = rewrite(text)
    assert found.text == f"import aws_cdk as cdk\n{UNUM}UnumWorkflow.from_state_machine_name(s, 'I', 'm')\n"
    assert [(each.line, "exported=True" in each.text) for each in found.decisions] == [(2, True)]


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from aws_cdk import aws_stepfunctions as sfn\nexcept ImportError:\n    import fake as sfn\n",
        "from aws_cdk import aws_stepfunctions as sfn\nsfn = patched(1)\n",
        "from aws_cdk import aws_stepfunctions as sfn\nfor sfn in (1, 2): ...\n",
    ],
)
def test_name_that_is_bound_twice_is_not_guessed(text: str) -> None:
    text = f"{text}def f(m: 'sfn.IStateMachine'): ...\nsfn.StateMachine(s, 'M')\n"
    found = rewrite(text)
    assert found.text == text
    assert [each.text.partition(" is bound")[0] for each in found.decisions] == ["IStateMachine", "StateMachine"]


def test_comment_within_a_name_is_not_lost() -> None:
    text = "from aws_cdk import aws_stepfunctions as sfn\nx = (sfn  # states\n     .StateMachine)(s, 'M')\n"
    found = rewrite(text)
    assert (found.text, found.edits) == (text, 0)
    assert "comment within the name" in found.decisions[0].text


def test_other_class_named_as_ours_stops_the_file() -> None:
    text = "from aws_cdk import aws_stepfunctions as sfn\nclass UnumWorkflow: ...\nsfn.StateMachine(s, 'M')\n"
    found = rewrite(text)
    assert found.text == text
    assert found.decisions == ((3, decisions.TAKEN.format(new="UnumWorkflow")),)


def test_members_that_workflows_lack_are_reported() -> None:
    text = dedent("""\
        import aws_cdk as cdk
        self.machine = cdk.aws_stepfunctions.StateMachine(self, "M")
        self.machine.node.default_child.add_property_override("A", 1)
        queue.grant_consume_messages(self.machine.role)
        function.role.add_to_policy(queue.node.default_child)
    """)
    assert [each.line for each in rewrite(text).decisions] == [3, 4]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("from aws_cdk.aws_stepfunctions import StateMachine  # noqa: X1\nx: StateMachine\n", "StateMachine  # noqa"),
        (
            "from aws_cdk.aws_stepfunctions import StateMachine\n__all__ = ['StateMachine']\nx: StateMachine\n",
            "import S",
        ),
        ("if T:\n    from aws_cdk import aws_stepfunctions as sfn\nx: 'sfn.StateMachine'\n", "as sfn"),
        (
            "from aws_cdk.aws_stepfunctions import (\n    Pass,  # no work\n    StateMachine,\n)\nx: StateMachine",
            "#",
        ),
    ],
)
def test_import_that_may_be_needed_stays(text: str, kept: str) -> None:
    assert kept in rewrite(text).text


def test_package_keeps_what_others_may_import() -> None:
    text = "from aws_cdk.aws_stepfunctions import StateMachine\nx: StateMachine\n"
    assert "import StateMachine" in rewrite(text, is_package=True).text


def test_refused_tasks_are_those_of_the_compiler() -> None:
    tasks = {each.rpartition(".")[2] for each in decisions.NAMED if ".aws_stepfunctions_tasks." in each}
    assert tasks >= REFUSED
    assert all(each.startswith("Emr") for each in tasks)


APP = """\
# -*- coding: {encoding} -*-
from aws_cdk import aws_stepfunctions as sfn
text = "é\x0c"
sfn.StateMachine(s, "é", definition=sfn.Pass(s, "P"))
sfn.CfnStateMachine(s, "C")"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_written_file_keeps_encoding_and_line_breaks(unum: Any, tmp_path: Path, encoding: str, ends: str) -> None:
    content = APP.format(encoding=encoding.removesuffix("-sig")).replace("\n", ends).encode(encoding)
    (tmp_path / "app.py").write_bytes(content)
    ran = unum("migrate", "app.py", "--write")
    assert (ran.code, ran.out) == (0, "")
    _, second, *_ = content.split(b"\n")
    added = UNUM.replace("\n", ends).encode()
    expected = content.replace(second + b"\n", second + b"\n" + added).replace(b"sfn.StateMachine", b"UnumWorkflow")
    assert (tmp_path / "app.py").read_bytes() == expected
    assert "app.py:6: CfnStateMachine" in ran.err, "the line of the file as it is now"
    assert "made 2 edits in 1 of 1 file; 1 place to decide about" in ran.err


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_printed_diff_is_one_for_patch(unum: Any, tmp_path: Path, ends: str) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("there is no git")
    (tmp_path / "shop").mkdir()
    app = tmp_path / "shop" / "app.py"
    content = APP.format(encoding="utf-8").replace("\n", ends).encode()
    app.write_bytes(content)
    diff = unum("migrate", "shop").out.encode()
    assert app.read_bytes() == content
    subprocess.run([git, "apply", "-"], input=diff, cwd=tmp_path, check=True)  # noqa: S603 - the diff above
    patched = app.read_bytes()
    app.write_bytes(content)
    assert unum("migrate", "shop", "--write").code == 0
    assert app.read_bytes() == patched != content


def test_folder_is_searched_without_what_tools_make(unum: Any, tmp_path: Path) -> None:
    app = "import aws_cdk as cdk\ncdk.aws_stepfunctions.StateMachine(s, 'M')\n"
    for folder in ("shop", ".hidden", "env/lib", "cdk.out", "node_modules/x"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "stack.py").write_text(app)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    ran = unum("migrate", ".", "--json")
    assert [(each["file"], each["edits"]) for each in json.loads(ran.out)] == [("shop/stack.py", 2)]


def test_code_of_functions_is_read_as_well(unum: Any, file: Callable[..., Path]) -> None:
    file("app.py", CASES["package by alias"][0])
    file("handler.py", "import boto3\n\nSTATES = boto3.client('stepfunctions')\n")
    ran = unum("migrate", "app.py", "handler.py")
    assert ran.out == (
        "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,3 @@\n import aws_cdk as cdk\n"
        f"-cdk.aws_stepfunctions.StateMachine(s, 'M')\n+{UNUM}+UnumWorkflow(s, 'M')\n"
    )
    assert ran.err.startswith('handler.py:3: boto3.client("stepfunctions") does not know workflows')
    assert ran.err.endswith("found 2 edits in 1 of 2 files (make them with --write); 1 place to decide about\n")


def test_unreadable_files_are_named_and_others_moved(unum: Any, file: Callable[..., Path]) -> None:
    file("old.py", "import stepfunctions\nprint 'x'\n")
    file("coded.py", "# coding: no-such-code\nimport stepfunctions\n")
    good = file("app.py", CASES["package by alias"][0])
    ran = unum("migrate", "old.py", "none.py", "coded.py", "app.py", "--write")
    assert ran.code == 2
    assert "old.py:2: expected Python" in ran.err
    assert "none.py: No such file" in ran.err
    assert "coded.py: expected Python, found: unknown encoding" in ran.err
    assert good.read_text() == CASES["package by alias"][1]


def test_app_is_not_run(unum: Any, file: Callable[..., Path], tmp_path: Path) -> None:
    file("app.py", f"import no_such_module\nopen('trace', 'w')\n{CASES['package by alias'][0]}")
    assert unum("migrate", "app.py", "--write").code == 0
    assert not (tmp_path / "trace").exists()


def test_without_libcst_it_says_what_to_install(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libcst", None)
    ran = unum("migrate", "app.py")
    assert (ran.code, ran.out) == (1, "")
    assert "pip install 'unum-cli[migrate]'" in ran.err
