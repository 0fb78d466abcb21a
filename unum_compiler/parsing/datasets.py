"""Checks of a distributed Map's data sets: ``ItemReader`` and ``ResultWriter``.

Source of the rules: AWS Step Functions Developer Guide, "ItemReader (Map)" and "ResultWriter (Map)".
"""

import re
from collections.abc import Collection

from unum_compiler.parsing.data_flow_fields import read_data
from unum_compiler.parsing.object_reader import Part
from unum_compiler.problems import Feature, did_you_mean, listed, shown
from unum_runtime.features.data_sets import config
from unum_runtime.features.data_sets.write import OUTPUT_TYPES, TRANSFORMATIONS
from unum_runtime.model.states import Language, Pattern

_READER, _WRITER = "ItemReader", "ResultWriter"
_GET, _LIST, _PUT = "getObject", "listObjectsV2", "putObject"
_PARTITION = r"(?:\$\{[^{}]*\}|[^:${}])*"
_RESOURCE = re.compile(rf"arn:{_PARTITION}:states:::s3:(?P<action>[A-Za-z0-9]+)")
_CALL = {Language.JSONPATH: "Parameters", Language.JSONATA: "Arguments"}
_ENUMS = {
    "InputType": (*config.FORMATS, config.MANIFEST),
    "ManifestType": config.MANIFESTS,
    "Transformation": config.TRANSFORMATIONS,
    "CSVDelimiter": tuple(config.DELIMITERS),
    "CSVHeaderLocation": config.HEADER_LOCATIONS,
}
_NUMBER = {Language.JSONPATH: frozenset(("MaxItems", "MaxItemsPath")), Language.JSONATA: frozenset(("MaxItems",))}
_CONFIG = frozenset(("CSVHeaders", "ItemsPointer", *_ENUMS))
_WRITER_CONFIG = {"Transformation": TRANSFORMATIONS, "OutputType": OUTPUT_TYPES}
_DESTINATION = frozenset(("Bucket", "Prefix", "ExpectedBucketOwner"))


def check_datasets(state: Part) -> None:
    """Report mistakes in the data sets of the Map `state`, whatever its mode."""
    if (reader := state.inner(_READER)) is not None:
        _check_reader(reader)
    if (writer := state.inner(_WRITER)) is not None:
        _check_writer(writer)


def _check_reader(reader: Part) -> None:
    call = _CALL[reader.language]
    reader.check_names(_READER, ("Resource", call, "ReaderConfig"))
    read_data(reader, frozenset((call,)))
    action = _action(reader, (_GET, _LIST))
    settings = reader.inner("ReaderConfig")
    if settings is not None:
        _check_config(settings, action)
    if action is None:
        return
    _check_parameters(reader, action)
    if action == _GET and not reader.has("ReaderConfig"):
        reader.report.mistake(reader.place, 'the field "ReaderConfig" is missing; say with "InputType" what to read')


def _check_parameters(reader: Part, action: str) -> None:
    from unum_compiler.services.service_tasks import check_parameters  # noqa: PLC0415 - only where a definition needs it

    call = _CALL[reader.language]
    arguments = reader.required(call, object)
    if arguments is not None:
        reader.report.add(check_parameters(f"aws-sdk:s3:{action}", Pattern.RESPONSE, arguments, reader.at(call)))


def _check_config(settings: Part, action: str | None) -> None:
    settings.check_names("ReaderConfig", _CONFIG | _NUMBER[settings.language])
    settings.not_both("MaxItems", "MaxItemsPath")
    read_data(settings, _NUMBER[settings.language])
    for field, allowed in _ENUMS.items():
        settings.choice(field, allowed)
    loads = settings.fields.get("Transformation") == config.LOAD
    if loads and action == _GET:
        message = f'objects can be loaded only with the Resource "arn:aws:states:::s3:{_LIST}"; use it, or remove this'
        settings.mistake("Transformation", message)
    # A list of objects has its own type; content of objects needs one to be parsed.
    if (loads or action == _GET) and not settings.has("InputType", "ManifestType"):
        message = f'the field "InputType" is missing; allowed are {listed(_ENUMS["InputType"])}'
        settings.report.mistake(settings.place, message)
    _check_headers(settings)
    _check_pointer(settings)


def _check_headers(settings: Part) -> None:
    headers = settings.optional("CSVHeaders", list)
    if settings.fields.get("CSVHeaderLocation") == "GIVEN" and not settings.has("CSVHeaders"):
        settings.report.mistake(settings.place, 'the headers are GIVEN, but "CSVHeaders" is missing; list them there')
    for name in headers or ():
        if not isinstance(name, str):
            settings.mistake("CSVHeaders", f"expected the name of a column, got {shown(name)}")


def _check_pointer(settings: Part) -> None:
    pointer = settings.optional("ItemsPointer", str)
    if pointer and not pointer.startswith("/"):
        settings.mistake("ItemsPointer", f'expected a JSON pointer such as "/data/items", got {shown(pointer)}')
    if pointer is not None and settings.fields.get("InputType", "JSON") != "JSON":
        settings.mistake("ItemsPointer", 'only "InputType": "JSON" allows it; remove it')


def _check_writer(writer: Part) -> None:
    call = _CALL[writer.language]
    writer.check_names(_WRITER, ("Resource", call, "WriterConfig"))
    settings = writer.inner("WriterConfig")
    if settings is not None:
        settings.check_names("WriterConfig", _WRITER_CONFIG)
        for field, allowed in _WRITER_CONFIG.items():
            settings.choice(field, allowed)
    if writer.has("Resource", call):
        _action(writer, (_PUT,))
        _check_destination(writer, call)
    elif settings is None:
        message = f'expected "Resource" and "{call}" (write results), "WriterConfig" (transform them), or all three'
        writer.report.mistake(writer.place, message)
    elif settings.fields.get("OutputType") == "JSONL":
        remedy = 'use "OutputType": "JSON", or write the results to S3 with "Resource"'
        feature = f"{Feature.RESULT_WRITER} with OutputType JSONL and without Resource"
        settings.unsupported("OutputType", feature, remedy)


def _check_destination(writer: Part, call: str) -> None:
    read_data(writer, frozenset((call,)))
    arguments = writer.required(call, object)
    if not isinstance(arguments, dict):
        return  # missing, an expression, or already reported
    names = {key.removesuffix(".$") for key in arguments}
    for name in names - _DESTINATION:
        writer.mistake(call, f"{_WRITER} has no parameter {shown(name)}; {did_you_mean(name, _DESTINATION)}")
    if "Bucket" not in names:
        writer.mistake(call, f'{_WRITER} needs the parameter "Bucket"; it is missing')


def _action(part: Part, allowed: Collection[str]) -> str | None:
    """Return the S3 action of the data set; report any other resource and return None."""
    resource = part.required("Resource", str)
    match = _RESOURCE.fullmatch(resource or "")
    if match is not None and match["action"] in allowed:
        return match["action"]
    if resource is not None:
        expected = " or ".join(f'"arn:aws:states:::s3:{action}"' for action in allowed)
        part.mistake("Resource", f"expected {expected}, got {shown(resource)}")
    return None
