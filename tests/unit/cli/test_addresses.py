"""Search of a command for its workflow."""

from argparse import Namespace

import pytest

from unum_cli.commands.command_errors import UsageError
from unum_cli.commands.stack import deployed
from unum_cli.grammar import grammar
from unum_cli.main import add_defaults

ENVIRONMENT = {"UNUM_STACK": "Shop", "UNUM_WORKFLOW": "Orders"}


def outputs(construct: str, name: str) -> dict[str, str]:
    return {
        f"{construct}Workflow": name,
        f"{construct}Table": "t",
        f"{construct}StartAlias": "a",
        f"{construct}Retention": "604800",
    }


BOTH = outputs("FulfilOrders", "Fulfil-Orders-BD777B83") | outputs("Refunds", "refunds")


@pytest.mark.parametrize(
    "given",
    ["Orders", "Fulfil/Orders", "Shop/Fulfil/Orders", "FulfilOrders", "Fulfil-Orders", "Fulfil-Orders-BD777B83"],
)
def test_a_workflow_is_found_by_name_and_by_its_construct(given: str) -> None:
    assert deployed("Shop", BOTH, given).workflow == "Fulfil-Orders-BD777B83"


def test_a_workflow_with_a_name_of_its_own_is_found_by_its_construct() -> None:
    assert deployed("Shop", BOTH, "Refunds").workflow == "refunds"


@pytest.mark.parametrize("given", ["rders", "Fulfil", "Ord", "", "-", "BD777B83", "orders"])
def test_a_part_of_a_name_finds_nothing(given: str) -> None:
    with pytest.raises(UsageError, match="has no such workflow"):
        deployed("Shop", BOTH, given)


def test_an_id_of_several_workflows_is_refused() -> None:
    two = BOTH | outputs("StoreOrders", "Store-Orders-AD777B83")
    with pytest.raises(UsageError, match="several such workflows"):
        deployed("Shop", two, "Orders")
    assert deployed("Shop", two, "Store/Orders").workflow == "Store-Orders-AD777B83"


def with_defaults(*arguments: str) -> Namespace:
    options = grammar().parse_args(arguments)
    add_defaults(options, ENVIRONMENT)
    return options


def test_the_environment_names_the_workflow_unless_the_command_line_does() -> None:
    found = with_defaults("steps", "e")
    assert (found.stack, found.workflow) == ("Shop", "Orders")
    found = with_defaults("steps", "e", "--stack", "Other", "--workflow", "W")
    assert (found.stack, found.workflow) == ("Other", "W")
    found = with_defaults("steps", "e", "--table", "t", "--workflow", "w")
    assert (found.stack, found.workflow) == (None, "w")


def test_commands_about_files_stay_so() -> None:
    assert with_defaults("graph", "flow.asl.json").stack is None
    assert with_defaults("graph").stack == "Shop"
    assert with_defaults("diff", "old.json", "new.json").stack is None
    assert with_defaults("diff", "new.json").stack == "Shop"
    assert "stack" not in with_defaults("compile", "flow.asl.json")
