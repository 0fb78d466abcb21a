import pytest

from unum_compiler.services.service_permissions import Condition
from unum_compiler.services.service_tasks import Statement
from unum_compiler.services.task_permissions import dataset_statements
from unum_runtime.model.states import Json

GET = "arn:aws:states:::s3:getObject"
LIST = "arn:aws:states:::s3:listObjectsV2"
PUT = "arn:aws:states:::s3:putObject"
DATA = "arn:${AWS::Partition}:s3:::data"
OBJECT = {"Bucket": "data", "Key": "a.csv"}


def on(action: str, resource: str) -> Statement:
    return Statement((action,), (resource,), is_wide=resource == "*")


LISTED = Statement(
    ("s3:ListBucket",), (DATA,), is_wide=False, condition=Condition("StringEquals", "s3:prefix", ("in",))
)


@pytest.mark.parametrize(
    ("resource", "parameters", "config", "statements"),
    [
        (GET, OBJECT, {"InputType": "CSV"}, [on("s3:GetObject", f"{DATA}/a.csv")]),
        (GET, {"Bucket": "data", "Key.$": "$.key"}, {"InputType": "CSV"}, [on("s3:GetObject", f"{DATA}/*")]),
        (GET, {"Bucket.$": "$.bucket", "Key": "a"}, {"InputType": "CSV"}, [on("s3:GetObject", "*")]),
        (GET, "{% $states.input.where %}", {"InputType": "CSV"}, [on("s3:GetObject", "*")]),
        (
            GET,
            {**OBJECT, "VersionId": "1"},
            {"InputType": "CSV"},
            [Statement(("s3:GetObject", "s3:GetObjectVersion"), (f"{DATA}/a.csv",))],
        ),
        (
            GET,
            OBJECT,
            {"InputType": "MANIFEST"},
            [on("s3:GetObject", f"{DATA}/a.csv"), on("s3:GetObject", f"{DATA}/*")],
        ),
        (
            GET,
            OBJECT,
            {"InputType": "CSV", "ManifestType": "ATHENA_DATA"},
            [on("s3:GetObject", f"{DATA}/a.csv"), on("s3:GetObject", "*")],
        ),
        (LIST, {"Bucket": "data", "Prefix": "in"}, {}, [LISTED]),
        (LIST, {"Bucket": "{% $b %}"}, {}, [on("s3:ListBucket", "*")]),
        (
            LIST,
            {"Bucket": "data", "Prefix": "in"},
            {"Transformation": "LOAD_AND_FLATTEN"},
            [LISTED, on("s3:GetObject", f"{DATA}/in*")],
        ),
        (PUT, {"Bucket": "data", "Prefix": "out"}, {}, [on("s3:PutObject", f"{DATA}/out/*")]),
        (PUT, {"Bucket": "data", "Prefix.$": "$.out"}, {}, [on("s3:PutObject", f"{DATA}/*")]),
        (PUT, {"Bucket": "data"}, {}, [on("s3:PutObject", f"{DATA}/*")]),
    ],
)
def test_permissions(resource: str, parameters: Json, config: Json, statements: list[Statement]) -> None:
    arguments = {"Resource": resource, "Parameters": parameters, "ReaderConfig": config}
    assert list(dataset_statements(arguments)) == statements


def test_results_that_are_only_transformed_need_no_permission() -> None:
    assert list(dataset_statements({"WriterConfig": {"Transformation": "FLATTEN"}})) == []
