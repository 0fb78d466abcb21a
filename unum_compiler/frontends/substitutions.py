"""``DefinitionSubstitutions``: texts that replace ``${Name}`` in a definition.

Source: AWS CloudFormation User Guide, AWS::StepFunctions::StateMachine, DefinitionSubstitutions.
"""

import re
from collections.abc import Iterator, Mapping

from unum_compiler.parsing.fields import COMPARED, NUMBERS
from unum_compiler.problems import did_you_mean, shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z0-9_.:-]+)\}")
_FUNCTIONS = ("Resource", "FunctionName")
"""Fields whose ``${Name}`` may be the key of a function instead of a substitution."""


def substitute(document: Json, substitutions: Mapping[str, str]) -> Json:
    """Return `document` with every ``${Name}`` replaced by its text.

    Args:
        document: definition.
        substitutions: text or CDK token by name.

    Raises:
        DefinitionError: with every name without a substitution, every unused substitution, and every substitution that
            is no text.
    """
    problems = [*_no_text(substitutions), *_unknown(document, substitutions), *_unused(document, substitutions)]
    if problems:
        raise DefinitionError(tuple(problems))
    return _substituted(document, substitutions)


def _substituted(value: Json, substitutions: Mapping[str, str], field: str = "") -> Json:
    match value:
        case str():
            text = _PLACEHOLDER.sub(lambda found: substitutions.get(found[1], found[0]), value)
            return _number(text) if field in NUMBERS | COMPARED and _PLACEHOLDER.fullmatch(value) else text
        case dict():
            # The key selects the type of a number, so values come before keys.
            changed = {key: _substituted(item, substitutions, key) for key, item in value.items()}
            return {_substituted(key, substitutions): item for key, item in changed.items()}
        case list():
            return [_substituted(item, substitutions, field) for item in value]
        case _:
            return value


def _number(text: str) -> Json:
    """Return `text` parsed as a number, or unchanged if parsing fails."""
    try:
        found = parse_foreign(text)
    except ValueError:
        return text
    return found if isinstance(found, int | float) and not isinstance(found, bool) else text


def _no_text(substitutions: Mapping[str, object]) -> Iterator[Problem]:
    for name, value in substitutions.items():
        if not isinstance(value, str):
            message = f"expected text or a CDK token of text, got {value!r}; write it as text"
            yield Problem(member("substitutions", name), message)


def _unknown(document: Json, substitutions: Mapping[str, str]) -> Iterator[Problem]:
    for place, field, name in _placeholders(document, "$", ""):
        if name not in substitutions and field not in _FUNCTIONS:
            remedy = did_you_mean(name, substitutions)
            yield Problem(place, f"there is no substitution for {shown(f'${{{name}}}')}; {remedy}")


def _unused(document: Json, substitutions: Mapping[str, str]) -> Iterator[Problem]:
    names = {name for _, _, name in _placeholders(document, "$", "")}
    for name in substitutions.keys() - names:
        missing = names - substitutions.keys()
        remedy = did_you_mean(name, missing) if missing else "remove it"
        yield Problem(member("substitutions", name), f"the definition has no {shown(f'${{{name}}}')}; {remedy}")


def _placeholders(value: Json, place: str, field: str) -> Iterator[tuple[str, str, str]]:
    """Yield (place, field, name) of every placeholder."""
    match value:
        case str():
            yield from ((place, field, name) for name in _PLACEHOLDER.findall(value))
        case dict():
            for key, item in value.items():
                yield from ((place, "", name) for name in _PLACEHOLDER.findall(key))
                yield from _placeholders(item, member(place, key), key)
        case list():
            for index, item in enumerate(value):
                yield from _placeholders(item, element(place, index), field)
