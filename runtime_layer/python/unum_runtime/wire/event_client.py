"""Client of EventBridge, apart from the clients of a normal delivery: few workflows put events."""

from unum_runtime.wire.service_clients import JsonClient, operation


class Events(JsonClient):
    """EventBridge client; boto3 documents the operation."""

    PREFIX = "AWSEvents"
    CONTENT_TYPE = "application/x-amz-json-1.1"
    put_events = operation("PutEvents")
