"""The applications by name: definition, functions, input."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from examples.research import graphs
from examples.research.inputs import INPUTS
from unum_compiler.definition import Definition
from unum_runtime.model.states import Task

FUNCTIONS = Path(__file__).parent / "functions"
SHARED = {"excamera_barrier": "excamera", "genome_barrier": "genome"}
"""Modules of applications that use another one's functions."""


@dataclass(frozen=True)
class Application:
    """One application.

    Attributes:
        name: its name, and that of its graph.
    """

    name: str

    @property
    def module(self) -> str:
        """Name of the module with its functions."""
        return SHARED.get(self.name, self.name)

    @property
    def construct_id(self) -> str:
        """Construct id of its workflow, such as ``WordCount``."""
        return self.name.title().replace("_", "")

    @property
    def source(self) -> Path:
        """File of this module."""
        return FUNCTIONS / f"{self.module}.py"

    @property
    def example(self) -> Any:
        """Input to run it with."""
        return INPUTS[self.name]

    @cached_property
    def definition(self) -> Definition:
        """The graph as a definition."""
        return Definition.from_graph(getattr(graphs, self.name)())

    @property
    def handlers(self) -> Mapping[str, str]:
        """Handlers by the key that Tasks name; both have the name of the function."""
        states = self.definition.compile(self.name, None).states.values()
        keys = dict.fromkeys(state.function for state in states if isinstance(state, Task))
        return {key: f"{self.module}.{key}" for key in keys}


UNUM = tuple(
    Application(name)
    for name in (
        "hello_world",
        "hello_bye",
        "relay",
        "chain",
        "fan_out",
        "parallel_pipeline",
        "image_process",
        "iot_pipeline",
        "text_processing",
        "word_count",
    )
)
"""Those of Unum's store of applications; with `EXCAMERA` they are eleven."""

EXCAMERA = tuple(Application(name) for name in ("excamera", "excamera_barrier"))
"""One application twice: with its wavefront, and with a barrier after each phase."""

SEBS = tuple(
    Application(name)
    for name in ("machine_learning", "video_analysis", "trip_booking", "map_reduce", "genome", "function_chain")
)
"""Six of the kinds that SeBS-Flow measures."""

GENOME_BARRIER = Application("genome_barrier")
"""What Step Functions can say of `genome`; the other analysis waits although it need not. Not deployed."""

ALL = UNUM + EXCAMERA + SEBS
