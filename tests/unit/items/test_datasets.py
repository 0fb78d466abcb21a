"""Compilation of data sets. Source: the developer guide, "ItemReader (Map)", "ResultWriter (Map)"."""

import pytest

from unum_compiler.parsing.datasets import check_datasets
from unum_compiler.parsing.object_reader import Part
from unum_compiler.problems import Report
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json, Language

GET = "arn:aws:states:::s3:getObject"
LIST = "arn:${AWS::Partition}:states:::s3:listObjectsV2"
PUT = "arn:aws:states:::s3:putObject"
OBJECT = {"Bucket": "data", "Key.$": "$.key"}
CSV = {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}


def problems(state: Json, language: Language = Language.JSONPATH) -> tuple[Problem, ...]:
    report = Report()
    check_datasets(Part(state, "$.States.M", language, report))
    try:
        report.raise_problems({"States": {"M": state}})
    except DefinitionError as error:
        return error.problems
    return ()


def reader(resource: Json = GET, parameters: Json = OBJECT, config: Json = CSV) -> Json:
    fields = {"Resource": resource, "Parameters": parameters, "ReaderConfig": config}
    return {"ItemReader": {name: value for name, value in fields.items() if value is not None}}


def writer(**fields: Json) -> Json:
    return {"ResultWriter": fields}


@pytest.mark.parametrize(
    "state",
    [
        {},
        reader(),
        reader(config={**CSV, "MaxItems": 10, "CSVDelimiter": "PIPE"}),
        reader(config={**CSV, "MaxItemsPath": "$.most"}),
        reader(config={"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a", "b"]}),
        reader(config={"InputType": "JSON", "ItemsPointer": "/data/items"}),
        reader(config={"InputType": "JSONL"}),
        reader(config={"InputType": "MANIFEST", "MaxItems": 0}),
        reader(config={"ManifestType": "S3_INVENTORY"}),
        reader(config={"ManifestType": "ATHENA_DATA", "InputType": "JSONL"}),
        reader(parameters={**OBJECT, "VersionId": "1", "ExpectedBucketOwner": "123456789012"}),
        reader(LIST, {"Bucket": "data", "Prefix.$": "States.Format('{}/', $.day)"}, None),
        reader(LIST, {"Bucket": "data"}, {"InputType": "JSON", "Transformation": "LOAD_AND_FLATTEN"}),
        writer(Resource=PUT, Parameters={"Bucket": "data", "Prefix": "out"}),
        writer(Resource=PUT, Parameters={"Bucket.$": "$.bucket"}, WriterConfig={"OutputType": "JSONL"}),
        writer(WriterConfig={"Transformation": "FLATTEN", "OutputType": "JSON"}),
    ],
)
def test_what_is_right(state: Json) -> None:
    assert problems(state) == ()


def test_what_is_right_in_jsonata() -> None:
    state = {
        "ItemReader": {
            "Resource": GET,
            "Arguments": {"Bucket": "data", "Key": "{% $states.input.key %}"},
            "ReaderConfig": {**CSV, "MaxItems": "{% $states.input.most %}"},
        },
        "ResultWriter": {"Resource": PUT, "Arguments": "{% $states.input.there %}"},
    }
    assert problems(state, Language.JSONATA) == ()


@pytest.mark.parametrize(
    ("state", "place", "message"),
    [
        (reader("getObject"), ".ItemReader.Resource", 'expected "arn:aws:states:::s3:getObject" or '),
        (reader(PUT), ".ItemReader.Resource", "got "),
        (reader(None), ".ItemReader", '"Resource" is missing'),
        (reader(parameters=None), ".ItemReader", '"Parameters" is missing'),
        (reader(parameters={"Bucket": "data"}), ".ItemReader.Parameters", '"Key"'),
        (reader(parameters={**OBJECT, "Prefix": "a"}), ".ItemReader.Parameters.Prefix", "no parameter"),
        (reader(parameters={"Bucket.$": "$[", "Key": "a"}), ".ItemReader.Parameters['Bucket.$']", "$["),
        (reader(config=None), ".ItemReader", '"ReaderConfig" is missing'),
        (reader(config={}), ".ItemReader.ReaderConfig", '"InputType" is missing'),
        (reader(config={"InputType": "XML"}), ".ItemReader.ReaderConfig.InputType", "expected one of"),
        (reader(config={**CSV, "Lines": 1}), ".ItemReader.ReaderConfig.Lines", "no field"),
        (reader(config={**CSV, "MaxItems": 1, "MaxItemsPath": "$.a"}), ".ItemReader.ReaderConfig", "got both"),
        (reader(config={**CSV, "MaxItemsPath": "$.a[*]"}), ".ItemReader.ReaderConfig.MaxItemsPath", "reference path"),
        (reader(config={**CSV, "MaxItems": -1}), ".ItemReader.ReaderConfig.MaxItems", "an integer from 0 to 100000000"),
        (reader(config={**CSV, "MaxItems": 100_000_001}), ".ItemReader.ReaderConfig.MaxItems", "got 100000001"),
        (
            reader(config={**CSV, "MaxItemsPath": "$$.Execution.Input.n"}),
            ".ItemReader.ReaderConfig.MaxItemsPath",
            "a reference path into the input",
        ),
        (reader(config={**CSV, "CSVDelimiter": ","}), ".ItemReader.ReaderConfig.CSVDelimiter", '"COMMA"'),
        (reader(config={**CSV, "CSVHeaderLocation": "GIVEN"}), ".ItemReader.ReaderConfig", '"CSVHeaders" is missing'),
        (reader(config={**CSV, "CSVHeaders": ["a", 1]}), ".ItemReader.ReaderConfig.CSVHeaders", "name of a column"),
        (reader(config={**CSV, "ItemsPointer": "/a"}), ".ItemReader.ReaderConfig.ItemsPointer", "remove it"),
        (
            reader(config={"InputType": "JSON", "ItemsPointer": "$.a"}),
            ".ItemReader.ReaderConfig.ItemsPointer",
            "JSON pointer",
        ),
        (
            reader(config={**CSV, "Transformation": "LOAD_AND_FLATTEN"}),
            ".ItemReader.ReaderConfig.Transformation",
            "listObjectsV2",
        ),
        (
            reader(LIST, {"Bucket": "data"}, {"Transformation": "LOAD_AND_FLATTEN"}),
            ".ItemReader.ReaderConfig",
            '"InputType" is missing',
        ),
        ({"ItemReader": "s3"}, ".ItemReader", "expected an object"),
        (writer(), ".ResultWriter", 'expected "Resource" and "Parameters"'),
        (writer(Resource=PUT), ".ResultWriter", '"Parameters" is missing'),
        (writer(Parameters={"Bucket": "data"}), ".ResultWriter", '"Resource" is missing'),
        (writer(Resource=GET, Parameters={"Bucket": "data"}), ".ResultWriter.Resource", "s3:putObject"),
        (writer(Resource=PUT, Parameters={"Prefix": "a"}), ".ResultWriter.Parameters", '"Bucket"'),
        (
            writer(Resource=PUT, Parameters={"Bucket": "a", "Key": "b"}),
            ".ResultWriter.Parameters",
            'no parameter "Key"',
        ),
        (writer(WriterConfig={"Transformation": "ZIP"}), ".ResultWriter.WriterConfig.Transformation", '"FLATTEN"'),
        (writer(WriterConfig={}, Output={}), ".ResultWriter.Output", "no field"),
    ],
)
def test_mistakes(state: Json, place: str, message: str) -> None:
    found = problems(state)
    assert [problem.path for problem in found] == [f"$.States.M{place}"]
    assert message in found[0].message


@pytest.mark.parametrize(
    ("state", "feature"),
    [
        (writer(WriterConfig={"OutputType": "JSONL"}), "ResultWriter with OutputType JSONL and without Resource"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(state: Json, feature: str) -> None:
    assert [problem.feature for problem in problems(state)] == [feature]


@pytest.mark.parametrize("config", [{}, *({"ProcessorConfig": {"Mode": mode}} for mode in ("INLINE", "DISTRIBUTED"))])
def test_a_map_has_data_sets_in_every_mode(config: Json) -> None:
    state = {**reader(), **writer(WriterConfig={"Transformation": "FLATTEN"})}
    assert problems({**state, "ItemProcessor": config}) == ()
