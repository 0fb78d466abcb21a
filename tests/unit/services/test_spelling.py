"""Names as the SDK for Java spells them; every service that botocore knows can be named."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader

from unum_runtime.features.services.spelling import (
    botocore_name,
    exception_name,
    field_name,
    fold_name,
    pascal,
    sdk_names,
    sdk_service,
    service_prefix,
)

SERVICE_ID = r'"serviceId"\s*:\s*"([^"]*)"'
AGAIN = "sms-voice"
"""botocore has this service twice, under the same serviceId."""


def service_ids() -> dict[str, str]:
    """The ``serviceId`` of each service, read from the beginning of its newest model."""
    found = {}
    for path in sorted(Path(Loader.BUILTIN_DATA_PATH).glob("*/*/service-2.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as model:
            beginning = model.read(4096)
            match = re.search(SERVICE_ID, beginning) or re.search(SERVICE_ID, beginning + model.read())
        found[path.parts[-3]] = match[1] if match else ""
    return found


def structures(service: str) -> Iterator[dict[str, Any]]:
    shapes = Loader().load_service_model(service, "service-2")["shapes"]
    return (shape["members"] for shape in shapes.values() if "members" in shape)


@pytest.mark.parametrize(
    ("api", "spelled"),
    [
        ("DBClusterIdentifier", "DbClusterIdentifier"),
        ("ETag", "ETag"),
        ("MD5OfMessageBody", "Md5OfMessageBody"),
        ("executionArn", "ExecutionArn"),
        ("SSEKMSKeyId", "SsekmsKeyId"),
        ("VPCs", "VpCs"),
        ("Equals", "EqualsValue"),
        ("default", "DefaultValue"),
    ],
)
def test_fields(api: str, spelled: str) -> None:
    assert field_name(api) == spelled


@pytest.mark.parametrize(
    ("service_id", "prefix"),
    [
        ("DynamoDB", "DynamoDb"),
        ("SFN", "Sfn"),
        ("S3", "S3"),
        ("Secrets Manager", "SecretsManager"),
        ("SESv2", "SesV2"),
        ("WAFV2", "Wafv2"),
        ("IoT", "Iot"),
        ("ACM PCA", "AcmPca"),
        ("Elasticsearch Service", "Elasticsearch"),
    ],
)
def test_prefixes_of_errors(service_id: str, prefix: str) -> None:
    assert service_prefix(service_id) == prefix


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ("NoSuchKey", "NoSuchKeyException"),
        ("ConditionalCheckFailedException", "ConditionalCheckFailedException"),
        ("DBInstanceNotFoundFault", "DBInstanceNotFoundException"),
    ],
)
def test_errors(shape: str, name: str) -> None:
    assert exception_name(shape) == name
    assert pascal(name).endswith("Exception")


def test_every_service_is_found_under_its_name_in_aws_sdk() -> None:
    ids = service_ids()
    wrong = [name for name, id_ in ids.items() if fold_name(botocore_name(sdk_service(id_))) != fold_name(name)]
    assert wrong == [AGAIN]
    assert len(ids) > 400
    assert {"sfn", "cloudwatchlogs", "s3"} <= set(sdk_names(ids))


@pytest.mark.parametrize("service", ["dynamodb", "s3", "ecs", "rds", "glue", "sagemaker", "apigateway", "iot"])
def test_no_two_fields_of_a_structure_are_spelled_alike(service: str) -> None:
    for members in structures(service):
        assert len(set(map(fold_name, members))) == len(members)
        assert all(re.fullmatch(r"[A-Z][A-Za-z0-9]*", field_name(member)) for member in members)
