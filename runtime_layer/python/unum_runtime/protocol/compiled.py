"""States with their data flow compiled: once for a workflow, in every sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from unum_runtime.asl.conditions import Condition
from unum_runtime.asl.dataflow import DataFlow
from unum_runtime.asl.templates import Template
from unum_runtime.model.ir import Choice, State, Workflow


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a state's fields compile to; each part compiles itself when it is first used.

    Attributes:
        flow: the five data-flow fields.
        rules: of a Choice: (condition, name of the state to go to).
        items_path: of a Map: selects the items from its effective input.
        item_selector: of a Map: makes a branch's input of an item.
    """

    flow: DataFlow
    rules: tuple[tuple[Condition, str], ...]
    items_path: str
    item_selector: Template | None


def compiled(workflow: Workflow, state: State) -> Compiled:
    """What `state` of `workflow` compiles to."""
    return _compiled(workflow)[state.name]


@lru_cache(maxsize=64)
def _compiled(workflow: Workflow) -> Mapping[str, Compiled]:
    return {name: _compile(state) for name, state in workflow.states.items()}


def _compile(state: State) -> Compiled:
    rules = state.rules if isinstance(state, Choice) else ()
    selector = state.data.get("ItemSelector")
    return Compiled(
        flow=DataFlow.of(state.data),
        rules=tuple((Condition(rule), target) for rule, target in rules),
        items_path=state.data.get("ItemsPath", "$"),
        item_selector=None if selector is None else Template(selector),
    )
