"""Short forms of states for graphs, and functions with another result on every run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_runtime.model.ir import DEFAULT_HOP_BUDGET, Workflow
from unum_runtime.model.states import Json
from unum_simulator import Context, Function


def varying(event: Json, context: Context) -> Json:
    """Tells which run of which invocation it was, and what it saw; small, however long the chain is."""
    seen = event if isinstance(event, (int, str)) else len(str(event))
    return {"by": context.unum.state, "run": context.run, "saw": seen}


@dataclass(frozen=True)
class Graph:
    """A workflow with its functions.

    Attributes:
        definition: in the Amazon States Language, or nodes in Python.
        functions: by Task or by function.
        input: of executions.
        hop_budget: see `Workflow`.
        invocation_budget: see `Workflow`.
        options: of functions.
        small_results: whether results are kept in packs.
    """

    definition: Json | g.Piece
    functions: Mapping[str, Function]
    input: Json = 1

    hop_budget: int = DEFAULT_HOP_BUDGET
    invocation_budget: int | None = None
    options: Mapping[str, FunctionOptions] = field(default_factory=dict)
    small_results: bool | None = None

    def workflow(self) -> Workflow:
        """The compiled workflow."""
        if isinstance(self.definition, g.Piece):
            workflow = Definition.from_graph(self.definition).compile("wf", None)
        else:
            workflow = compile_workflow(self.definition, name="wf", functions=None, options=self.options)
        return replace(
            workflow,
            hop_budget=self.hop_budget,
            invocation_budget=self.invocation_budget,
            small_results=self.small_results,
        )


def task(function: str, following: str | None = None, **fields: Json) -> Json:
    """A Task state that runs `function`."""
    return {"Type": "Task", "Resource": function, **_next(following), **fields}


def pass_(following: str | None = None, **fields: Json) -> Json:
    """A Pass state."""
    return {"Type": "Pass", **_next(following), **fields}


def map_(processor: Json, following: str | None = None, **fields: Json) -> Json:
    """A Map state."""
    return {"Type": "Map", "ItemProcessor": processor, **_next(following), **fields}


def parallel(*branches: Json, following: str | None = None, **fields: Json) -> Json:
    """A Parallel state."""
    return {"Type": "Parallel", "Branches": list(branches), **_next(following), **fields}


def machine(**states: Json) -> Json:
    """A state machine, or a branch, that begins with the first of `states`."""
    return {"StartAt": next(iter(states)), "States": states}


def _next(following: str | None) -> dict[str, Any]:
    return {"Next": following} if following else {"End": True}


def choice(*rules: tuple[Json, str], default: str) -> Json:
    return {"Type": "Choice", "Choices": [{**rule, "Next": target} for rule, target in rules], "Default": default}
