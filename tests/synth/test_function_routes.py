"""Routes between functions without circular dependencies, which CloudFormation refuses."""

import pytest

from tests.synth.deployment import Deployment, function
from tests.synth.machines import a_map, chain, choice, machine, parallel, task


def test_chain() -> None:
    deployment = Deployment.of(chain("A", "B", "C"), "A", "B", "C")
    assert deployment.routes("A") == {"B": deployment.version("B")}
    assert deployment.routes("B") == {"C": deployment.version("C")}
    assert deployment.routes("C") == {}
    assert deployment.services("A")["Flow"]["start_alias"] == "start-Flow"
    assert "start_alias" not in deployment.services("B")["Flow"]


def test_parallel_begins_in_the_entry_function() -> None:
    deployment = Deployment.of(machine(P=parallel(chain("A", "B"), chain("C"), then="D"), D=task("D")), *"ABCD")
    assert deployment.routes("Flow/Entry") == {key: deployment.version(key) for key in "AC"}
    assert deployment.routes("B") == deployment.routes("C") == {"D": deployment.version("D")}
    assert deployment.services("Flow/Entry")["Flow"]["hosts"] == []
    variables = deployment.properties("Flow/Entry")["Environment"]["Variables"]
    assert "UNUM_HANDLER" not in variables


def test_a_function_may_have_the_key_entry() -> None:
    deployment = Deployment.of(machine(P=parallel(chain("entry"), then="D"), D=task("D")), "entry", "D")
    assert deployment.routes("Flow/Entry").keys() == {"entry"}


def test_map() -> None:
    deployment = Deployment.of(machine(A=task("A", "M"), M=a_map(chain("B"), then="C"), C=task("C")), *"ABC")
    assert deployment.routes("A").keys() == {"B", "C"}  # C as well, for there may be nothing to map over
    assert deployment.routes("B").keys() == {"C"}


def test_loop_travels_in_the_envelopes() -> None:
    loop = machine(A=task("A", "B"), B=task("B", "Again"), Again=choice("End", more="A"), End={"Type": "Succeed"})
    deployment = Deployment.of(loop, "A", "B")
    assert deployment.routes("A") == {"B": deployment.version("B")}
    assert deployment.routes("B") == {}
    assert deployment.services("A")["Flow"]["carried"] == ["A"]
    for key in ("A", "B"):
        assert deployment.properties(key)["RecursiveLoop"] == "Allow"


def test_loop_that_begins_later() -> None:
    loop = machine(
        S=task("S", "A"),
        A=task("A", "B"),
        B=task("B", "Again"),
        Again=choice("End", more="A"),
        End={"Type": "Succeed"},
    )
    deployment = Deployment.of(loop, "S", "A", "B")
    assert deployment.services("S")["Flow"]["carried"] == ["A"]
    assert deployment.routes("S") == {"A": deployment.version("A")}
    assert "RecursiveLoop" not in deployment.properties("S")


def test_self_loop() -> None:
    deployment = Deployment.of(
        machine(A=task("A", "Again"), Again=choice("End", more="A"), End={"Type": "Succeed"}), "A"
    )
    assert deployment.routes("A") == {}
    assert deployment.properties("A")["RecursiveLoop"] == "Allow"


def test_loop_with_two_ways_in() -> None:
    deployment = Deployment.of(
        machine(
            First=choice("A", other="B"),
            A=task("A", "Again"),
            Again=choice("B", done="End"),
            B=task("B", "A"),
            End={"Type": "Succeed"},
        ),
        "A",
        "B",
    )
    assert deployment.routes("Flow/Entry") == {key: deployment.version(key) for key in "AB"}


def test_one_function_as_two_nodes() -> None:
    deployment = Deployment.of(machine(A=task("F", "B"), B=task("G", "C"), C=task("F")), "F", "G")
    assert deployment.services("F")["Flow"]["hosts"] == ["F"]
    assert deployment.services("F")["Flow"]["carried"] == ["F"]


def test_one_function_under_two_keys() -> None:
    deployment = Deployment.new()
    both, other = function(deployment.stack, "Both"), function(deployment.stack, "Other")
    deployment.flow(chain("A", "B", "C"), {"A": both, "B": other, "C": both})
    assert deployment.services("Both")["Flow"]["hosts"] == ["A"]
    assert deployment.services("Both")["Flow"]["carried"] == ["A"]
    assert deployment.routes("Other") == {}
    assert len(deployment.all("Lambda::Version")) == 2 + 2


def test_two_workflows_with_one_function() -> None:
    deployment = Deployment.new()
    shared, own = function(deployment.stack, "Shared"), function(deployment.stack, "Own")
    deployment.flow(chain("S"), {"S": shared}, "One")
    deployment.flow(chain("O", "S"), {"O": own, "S": shared}, "Two")
    assert deployment.services("Shared").keys() == {"One", "Two"}
    assert len(deployment.properties("Shared")["Layers"]) == 1
    assert len(deployment.all("Lambda::Version")) == 2 + 2 + 2
    # A version has one destination for its failures: that of its first workflow. Four aliases have theirs.
    configurations = deployment.all("Lambda::EventInvokeConfig")
    assert len(configurations) == 6 + 2 * 4


def test_workflows_that_lead_through_functions_in_opposite_directions() -> None:
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key) for key in "AB"}
    deployment.flow(chain("A", "B"), functions, "There")
    deployment.flow(chain("B", "A"), functions, "Back")
    assert deployment.routes("A", "There") == {"B": deployment.version("B")}
    assert deployment.routes("B", "Back") == {}
    # B cannot know A's version, so somebody else has to.
    assert deployment.routes("Back/Entry", "Back") == {key: deployment.version(key) for key in "BA"}
    assert deployment.services("Back/Entry")["Back"]["carried"] == ["A"]
    assert "start_alias" not in deployment.services("B")["Back"]


@pytest.mark.timeout(60)
def test_conditions_do_not_multiply_the_work() -> None:
    rungs = 16
    states = {}
    for rung in range(rungs):
        states[f"C{rung}"] = choice(f"L{rung}", right=f"R{rung}")
        for side in "LR":
            states[f"{side}{rung}"] = task(side, f"C{rung + 1}" if rung < rungs - 1 else None)
    keys = [f"{side}{rung}" for rung in range(rungs) for side in "LR"]
    states |= {key: {**states[key], "Resource": key} for key in keys}
    deployment = Deployment.of(machine(**states), *keys)
    assert deployment.routes("L0").keys() == {"L1", "R1"}
