"""Reads what only a Map has: its processor, its mode, and the fields that go with it."""

import re

from unum_compiler.parsing.object_reader import Part
from unum_compiler.problems import shown

MAX_LABEL_CHARACTERS = 40
"""Of a ``Label``. Source: AWS Step Functions Developer Guide, "Using Map state in Distributed mode"."""

_CONFIG = ("Mode", "ExecutionType")
_INLINE, _DISTRIBUTED = _MODES = ("INLINE", "DISTRIBUTED")
_TYPES = ("STANDARD", "EXPRESS")
_NOT_IN_LABELS = re.compile(r"[\s?*<>{}\[\]:;,\\|^~$#%&`\"\x00-\x1f\x7f-\x9f]")
_PAIRS = tuple(
    (field, f"{field}Path") for field in ("MaxConcurrency", "ToleratedFailureCount", "ToleratedFailurePercentage")
)


def processor_field(state: Part) -> str:
    """The name of the field that holds the processor of the Map `state`, which has an older one."""
    return "Iterator" if state.has("Iterator") and not state.has("ItemProcessor") else "ItemProcessor"


def check_map(state: Part) -> None:
    """Report what is wrong with the fields of the Map `state`, without its processor and what other states have too."""
    for field, older in (("ItemSelector", "Parameters"), ("ItemProcessor", "Iterator")):
        if state.has(field) and state.has(older):
            message = f'expected "{field}" or its older name "{older}", got both; remove "{older}"'
            state.report.mistake(state.place, message)
    for pair in _PAIRS:
        state.not_both(*pair)
    _check_label(state)


def read_mode(state: Part) -> bool:
    """Whether the Map `state` is in distributed mode."""
    processor = state.fields.get(processor_field(state))
    if not isinstance(processor, dict):
        return False
    inside = Part(processor, state.at(processor_field(state)), state.language, state.report)
    config = inside.inner("ProcessorConfig")
    distributed = config is not None and _is_distributed(config)
    if not distributed and state.has("ItemBatcher"):
        message = 'only a distributed Map has it; remove it, or set "Mode": "DISTRIBUTED" in its "ProcessorConfig"'
        state.report.mistake(state.at("ItemBatcher"), message)
    return distributed


def _is_distributed(config: Part) -> bool:
    config.check_names("ProcessorConfig", _CONFIG)
    mode = config.fields.get("Mode", _INLINE)
    if mode not in _MODES:
        config.report.mistake(config.at("Mode"), f'expected "INLINE" or "DISTRIBUTED", got {shown(mode)}')
    distributed: bool = mode == _DISTRIBUTED
    kind = config.fields.get("ExecutionType")
    if config.has("ExecutionType") and not distributed:
        config.report.mistake(config.at("ExecutionType"), "only a distributed Map has it; remove it")
    elif config.has("ExecutionType") and kind not in _TYPES:
        config.report.mistake(config.at("ExecutionType"), f'expected "STANDARD" or "EXPRESS", got {shown(kind)}')
    return distributed


def _check_label(state: Part) -> None:
    label = state.optional("Label", str)
    if label is None:
        return
    if not 1 <= len(label) <= MAX_LABEL_CHARACTERS:
        message = f"a label has 1 to {MAX_LABEL_CHARACTERS} characters, this one has {len(label)}; shorten it"
        state.report.mistake(state.at("Label"), message)
    if wrong := _NOT_IN_LABELS.search(label):
        state.report.mistake(state.at("Label"), f"a label cannot contain {shown(wrong[0])}; remove it")
