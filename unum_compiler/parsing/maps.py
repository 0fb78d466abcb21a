"""Readers of Map fields: processor, mode, label."""

import re

from unum_compiler.parsing.object_reader import Part
from unum_compiler.problems import shown

MAX_LABEL_CHARACTERS = 40
"""Maximal length of a ``Label``. Source: AWS Step Functions Developer Guide, "Using Map state in Distributed mode"."""

_CONFIG = ("Mode", "ExecutionType")
_MODES = ("INLINE", "DISTRIBUTED")
# Characters that the guide's page on distributed mode excludes: labels become parts of ARNs.
_NOT_IN_LABELS = re.compile(r"[\s?*<>{}\[\]:;,\\|^~$#%&`\"\x00-\x1f\x7f-\x9f]")
# Placeholders of tokens; see `unum_compiler.frontends.values`.
_OF_DEPLOYMENT = re.compile(r"\$\{Value\d+\}")
_PAIRS = tuple(
    (field, f"{field}Path") for field in ("MaxConcurrency", "ToleratedFailureCount", "ToleratedFailurePercentage")
)


def processor_field(state: Part) -> str:
    """Return the name of the processor's field; ``Iterator`` is its name in older definitions."""
    return "Iterator" if state.has("Iterator") and not state.has("ItemProcessor") else "ItemProcessor"


def check_map(state: Part) -> None:
    """Report mistakes in Map fields of `state`, excluding its processor."""
    for field, older in (("ItemSelector", "Parameters"), ("ItemProcessor", "Iterator")):
        if state.has(field) and state.has(older):
            message = f'expected "{field}" or its older name "{older}", got both; remove "{older}"'
            state.report.mistake(state.place, message)
    for pair in _PAIRS:
        state.not_both(*pair)
    _check_label(state)


def read_mode(state: Part) -> bool:
    """Return True if the Map `state` runs in distributed mode."""
    processor = state.fields.get(processor_field(state))
    if not isinstance(processor, dict):
        return False
    inside = Part(processor, state.at(processor_field(state)), state.language, state.report)
    config = inside.inner("ProcessorConfig")
    distributed = config is not None and _is_distributed(config)
    if not distributed and state.has("ItemBatcher"):
        message = 'only a distributed Map has it; remove it, or set "Mode": "DISTRIBUTED" in its "ProcessorConfig"'
        state.mistake("ItemBatcher", message)
    return distributed


def is_express(state: Part) -> bool:
    """Return True if branches of the valid, distributed Map `state` are Express workflows."""
    config = (state.fields.get(processor_field(state)) or {}).get("ProcessorConfig") or {}
    return bool(config.get("ExecutionType") == "EXPRESS")


def _is_distributed(config: Part) -> bool:
    config.check_names("ProcessorConfig", _CONFIG)
    distributed = config.choice("Mode", _MODES) == "DISTRIBUTED"
    if distributed:
        config.choice("ExecutionType", ("STANDARD", "EXPRESS"))
    elif config.has("ExecutionType"):
        config.mistake("ExecutionType", "only a distributed Map has it; remove it")
    return distributed


def _check_label(state: Part) -> None:
    label = state.optional("Label", str)
    if label is None:
        return
    known = _OF_DEPLOYMENT.sub("", label)
    if not label or len(known) > MAX_LABEL_CHARACTERS:
        state.mistake("Label", f"expected 1 to {MAX_LABEL_CHARACTERS} characters, got {len(known)}; shorten it")
    if wrong := _NOT_IN_LABELS.search(known):
        state.mistake("Label", f"a label cannot contain {shown(wrong[0])}; remove it")
