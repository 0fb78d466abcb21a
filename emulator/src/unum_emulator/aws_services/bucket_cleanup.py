"""Custom resource behind `auto_delete_objects=True` of the CDK's buckets.

Its function needs the S3 client for Node.js, which Lambda's runtime contains and this machine lacks. This module sends
the same requests with the role of the function.
"""

import uuid
from collections.abc import Mapping
from typing import Any

import botocore.session
from botocore.exceptions import ClientError

from unum_emulator.aws_lambda.function_version import FunctionRef, role_credentials

RESOURCE_TYPE = "Custom::S3AutoDeleteObjects"
_TAG = {"Key": "aws-cdk:auto-delete-objects", "Value": "true"}
"""Tag of buckets whose content may be deleted; without it, the CDK's function does nothing either."""


class BucketCleanup:
    """Provider of the custom resource.

    Args:
        endpoint: AWS endpoint.
    """

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def __call__(self, func: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
        """Empty the bucket at a deletion; answer with a physical id, which follows the bucket's name in updates.

        Raises:
            ClientError: S3 refused a request.
        """
        bucket = event["ResourceProperties"]["BucketName"]
        match event["RequestType"]:
            case "Create":
                return {"PhysicalResourceId": str(uuid.uuid4())}
            case "Update":
                return {"PhysicalResourceId": str(bucket)}
            case _:
                _empty(self._client(func["config"]), bucket)
                return {"PhysicalResourceId": None}

    def _client(self, config: Mapping[str, Any]) -> Any:
        credentials = role_credentials(config)
        return botocore.session.get_session().create_client(
            "s3",
            endpoint_url=self._endpoint,
            region_name=FunctionRef.parse(config["FunctionArn"]).region,
            aws_access_key_id=credentials["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=credentials["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=credentials.get("AWS_SESSION_TOKEN"),
        )


def _empty(s3: Any, bucket: str) -> None:
    """Delete all versions and delete markers of a tagged bucket."""
    try:
        if _TAG not in s3.get_bucket_tagging(Bucket=bucket)["TagSet"]:
            return
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
            found = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
            objects = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in found]
            if objects:
                s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
    except ClientError as error:
        if error.response["Error"]["Code"] not in {"NoSuchBucket", "NoSuchTagSet"}:
            raise
