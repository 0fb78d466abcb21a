"""Attributes that a workflow finds in the inputs of its executions."""

from collections.abc import Mapping
from dataclasses import replace

from constructs import Construct

from unum_compiler.analysis.attribute_places import place_of
from unum_constructs.errors import ConstructError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.start_facts import MOST_ATTRIBUTES, RULE, is_attribute_name
from unum_runtime.model.states import Language


def with_attributes(construct: Construct, workflow: Workflow, given: Mapping[str, str] | None) -> Workflow:
    """Return `workflow` with the places of its attributes.

    Raises:
        ConstructError: a name or a place is not valid, there are too many, or no state has the language of a place.
    """
    if not given:
        return workflow
    if not isinstance(given, Mapping) or not all(map(is_attribute_name, given)) or len(given) > MOST_ATTRIBUTES:
        raise ConstructError(construct, f"attributes: expected places by name ({RULE}), got {given!r}")
    try:
        places = {name: place_of(name, text) for name, text in given.items()}
    except ValueError as error:
        raise ConstructError(construct, str(error)) from None
    languages = {state.language for state in workflow.states.values()}
    for name, place in places.items():
        if isinstance(place, str) and Language.JSONATA not in languages:
            expected = "expected a reference path, such as $.order.id, in a definition without JSONata"
            raise ConstructError(construct, f"attributes[{name!r}]: {expected}; got {place!r}")
    return replace(workflow, attributes=places)
