"""Waits for signals: nodes in Python, Tasks in the Amazon States Language, what is refused, and the page's example."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform
from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import DefinitionError
from unum_runtime.features.signals import signal
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Pattern
from unum_runtime.protocol.runtime import CallbackPending

PAGE = Path(__file__).parents[3] / "docs/howto/signals.md"
WAIT = {"Type": "Task", "Resource": "unum:signal:go", "End": True}


def machine(**fields: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": {**WAIT, **fields}}}


def test_the_example_of_the_page() -> None:
    (definition,) = re.findall(r'```python title="definition"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, Any] = {}
    exec(definition, found)  # noqa: S102 - our own page
    workflow = Definition.from_graph(found["flow"]).compile("w", None)
    functions: dict[str, Any] = dict.fromkeys(("release", "ship"), lambda event: event)
    functions |= {"reserve": lambda event: event, "$services": lambda _: CallbackPending()}
    platform = Platform(workflow, functions)
    platform.options["own_address"] = "services"
    platform.start("order-7", {"order": "7"})
    platform.deliver_all()
    asked = signal.request("order-7", "paid", {"cents": 1300}, id="1", key="7")
    assert signal.answer(platform.runtime(), asked) == {"is_new": True, "is_awaited": True}
    platform.deliver_all()
    ending = platform.ending("order-7")
    assert ending is not None
    assert ending.outcome.value == {"cents": 1300}


def test_a_node_is_a_task_that_waits() -> None:
    workflow = Definition.from_graph(g.wait_for("go", key="k", name="wait", timeout_s=5)).compile("w", None)
    task = workflow.task("wait")
    assert (task.resource, task.pattern, task.function) == ("signal:go", Pattern.CALLBACK, "$services")
    assert task.data == {"Parameters": {"Key": "k"}, "TimeoutSeconds": 5}
    assert Workflow.from_json(workflow.to_json()).digest == workflow.digest


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"Resource": "unum:signal:a b"}, "the name of a signal"),
        ({"HeartbeatSeconds": 5}, "has no such field"),
        ({"Parameters": {"Other": 1}}, 'an object with "Key"'),
        ({"Parameters": {"Key": ""}}, "a text of 1 to 256 bytes"),
    ],
)
def test_what_a_wait_cannot_have(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(message)):
        compile_workflow(machine(**fields), name="w", functions=None)


@pytest.mark.parametrize(("given", "error"), [({"signal": "a b"}, ValueError), ({"signal": 7}, TypeError)])
def test_what_a_node_cannot_be_called(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="signal"):
        g.wait_for(given["signal"], name="node")


def test_strict_compatibility_refuses_a_wait() -> None:
    with pytest.raises(DefinitionError, match="Step Functions has no signals"):
        compile_workflow(machine(), name="w", functions=None, compatibility=Compatibility.STRICT)


def test_the_task_before_a_wait_keeps_its_checkpoint() -> None:
    before = {"Type": "Task", "Resource": "F", "Next": "A"}
    definition = {"StartAt": "Z", "States": {"Z": before, "A": WAIT}}
    with pytest.raises(DefinitionError, match="waits for a signal, and needs its input committed before"):
        compile_workflow(definition, name="w", functions=["F"], options={"F": FunctionOptions(checkpoint=False)})


def test_a_wait_joins_no_results_by_reference() -> None:
    branch = {"StartAt": "F", "States": {"F": {"Type": "Task", "Resource": "F", "End": True}}}
    map_ = {"Type": "Map", "ItemProcessor": branch, "Next": "A"}
    workflow = compile_workflow({"StartAt": "M", "States": {"M": map_, "A": WAIT}}, name="w", functions=["F"])
    assert workflow.fan_out("M").join is None
