"""Endpoints that a deployed app opens itself: presigned URLs and forms, function URLs, APIs, downloads."""

import json
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import boto3
import botocore.auth
import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from unum_emulator.process_settings import AccessKey

FRIEND, EVIL = "http://localhost:3000", "http://evil.example"
WRITING = """
    import json, pathlib

    def handler(event, context):
        pathlib.Path(event["queryStringParameters"]["path"]).touch()
        return {"statusCode": 200, "body": "written"}
"""
CORS = {"CORSRules": [{"AllowedMethods": ["GET", "PUT", "POST"], "AllowedOrigins": [FRIEND], "AllowedHeaders": ["*"]}]}
FORM = "form-boundary"


@pytest.fixture
def bucket(cloud: Any) -> str:
    name = f"bucket-{uuid.uuid4().hex[:8]}"
    cloud.client("s3").create_bucket(Bucket=name)
    return name


def _objects(cloud: Any, bucket: str) -> list[str]:
    found = cloud.client("s3").list_objects_v2(Bucket=bucket)
    return [each["Key"] for each in found.get("Contents", ())]


@pytest.mark.parametrize("version", ["s3", "s3v4"])
@pytest.mark.parametrize("with_session", [False, True])
def test_presigned_urls_work_until_changed_or_expired(
    version: str, cloud: Any, bucket: str, *, with_session: bool
) -> None:
    key = {"aws_access_key_id": cloud.emulator.key.id, "aws_secret_access_key": cloud.emulator.key.secret}
    if with_session:
        given = cloud.client("sts").get_session_token()["Credentials"]
        key = {
            "aws_access_key_id": given["AccessKeyId"],
            "aws_secret_access_key": given["SecretAccessKey"],
            "aws_session_token": given["SessionToken"],
        }
    client = boto3.client(
        "s3", "us-east-1", endpoint_url=cloud.emulator.endpoint, config=Config(signature_version=version), **key
    )
    target = {"Bucket": bucket, "Key": "a b/ü"}
    put, get = (
        client.generate_presigned_url(name, Params=target, ExpiresIn=60) for name in ("put_object", "get_object")
    )
    old = client.generate_presigned_url("put_object", Params=target, ExpiresIn=-60)
    refused = [
        put.replace("a%20b", "other"),
        put.replace(bucket, f"{bucket}x"),
        f"{put}x",
        put.replace("Signature=", "Signature=0"),
        old,
    ]
    for url in refused:
        assert cloud.send_raw("PUT", cloud.path_of(url), b"planted").status in (400, 403), url
    assert cloud.send_raw("PUT", cloud.path_of(get), b"planted").status in (400, 403)
    assert _objects(cloud, bucket) == []
    assert cloud.send_raw("PUT", cloud.path_of(put), b"sent").status == 200
    assert cloud.send_raw("GET", cloud.path_of(get)).body == b"sent"
    # As an image or a link in a page of another origin: no script of that page sees the answer.
    assert cloud.send_raw("GET", cloud.path_of(get), b"", {"sec-fetch-site": "cross-site"}).status == 200


def _form(fields: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
    parts = [
        f'--{FORM}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    file = f'--{FORM}\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nsent\r\n--{FORM}--\r\n'
    return "".join([*parts, file]).encode(), {"content-type": f"multipart/form-data; boundary={FORM}"}


@pytest.mark.parametrize("version", ["s3", "s3v4"])
def test_presigned_forms_work_unless_changed(version: str, cloud: Any, bucket: str) -> None:
    form = cloud.client("s3", signature_version=version).generate_presigned_post(bucket, "uploaded")
    fields = form["fields"]
    signature = "x-amz-signature" if version == "s3v4" else "signature"
    wrong: list[Mapping[str, str]] = [
        {},
        {"key": "uploaded"},
        {**fields, "policy": fields["policy"][:-8] + "AAAAAAAA"},
        {**fields, signature: "0" * len(fields[signature])},
        {name: value for name, value in fields.items() if name != signature},
    ]
    for changed in wrong:
        assert cloud.send_raw("POST", f"/{bucket}", *_form(changed)).status in (400, 403)
    assert _objects(cloud, bucket) == []
    assert cloud.send_raw("POST", f"/{bucket}", *_form(fields)).status == 204
    assert _objects(cloud, bucket) == ["uploaded"]


def test_only_origins_of_a_bucket_s_rules_upload(cloud: Any, bucket: str) -> None:
    client = cloud.client("s3", signature_version="s3v4")
    put = cloud.path_of(client.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "sent"}))
    asked = {"access-control-request-method": "PUT"}

    def results(origin: str) -> list[tuple[int, str | None]]:
        found = [
            cloud.send_raw("OPTIONS", f"/{bucket}/sent", b"", {"origin": origin, **asked}),
            cloud.send_raw("PUT", put, b"sent", {"origin": origin}),
        ]
        return [(each.status, each.headers.get("access-control-allow-origin")) for each in found]

    assert results(FRIEND) == [(403, None)] * 2
    client.put_bucket_cors(Bucket=bucket, CORSConfiguration=CORS)
    assert results(EVIL) == results("null") == [(403, None)] * 2
    assert _objects(cloud, bucket) == []
    assert results(FRIEND) == [(200, FRIEND)] * 2
    assert _objects(cloud, bucket) == ["sent"]
    unsigned = cloud.send_raw("PUT", f"/{bucket}/planted", b"", {"origin": FRIEND})
    assert unsigned.status == 403
    assert _objects(cloud, bucket) == ["sent"]


def _url(cloud: Any, cors: Any, authorization: str = "NONE") -> str:
    function = cloud.function(WRITING)
    options = {"Cors": {"AllowOrigins": cors, "AllowMethods": ["*"]}} if cors else {}
    found = cloud.awslambda.create_function_url_config(FunctionName=function, AuthType=authorization, **options)
    path: str = cloud.path_of(found["FunctionUrl"])
    return path


def _http_api(cloud: Any, cors: Any, authorization: str = "NONE") -> str:
    function = cloud.function(WRITING)
    arn = cloud.awslambda.get_function(FunctionName=function)["Configuration"]["FunctionArn"]
    options = {"CorsConfiguration": {"AllowOrigins": cors, "AllowMethods": ["*"]}} if cors else {}
    apis = cloud.client("apigatewayv2")
    api = {"ApiId": apis.create_api(Name=function, ProtocolType="HTTP", **options)["ApiId"]}
    integration = apis.create_integration(
        **api, IntegrationType="AWS_PROXY", IntegrationUri=arn, PayloadFormatVersion="2.0"
    )["IntegrationId"]
    apis.create_route(
        **api, RouteKey="ANY /called", Target=f"integrations/{integration}", AuthorizationType=authorization
    )
    apis.create_stage(**api, StageName="$default", AutoDeploy=True)
    return f"/_aws/execute-api/{api['ApiId']}/$default/called"


def _rest_api(cloud: Any, authorization: str = "NONE") -> str:
    function = cloud.function(WRITING)
    arn = cloud.awslambda.get_function(FunctionName=function)["Configuration"]["FunctionArn"]
    apis = cloud.client("apigateway")
    made = apis.create_rest_api(name=function)
    method = {"restApiId": made["id"], "resourceId": made["rootResourceId"], "httpMethod": "POST"}
    apis.put_method(**method, authorizationType=authorization)
    uri = f"arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/{arn}/invocations"
    apis.put_integration(**method, type="AWS_PROXY", integrationHttpMethod="POST", uri=uri)
    apis.create_deployment(restApiId=made["id"], stageName="prod")
    return f"/restapis/{made['id']}/prod/_user_request_/"


@pytest.mark.parametrize("make", [_rest_api, lambda cloud, kind: _http_api(cloud, None, kind)], ids=["rest", "http"])
def test_methods_with_iam_need_a_signature(make: Callable[[Any, str], str], cloud: Any, tmp_path: Path) -> None:
    for kind in ("NONE", "AWS_IAM"):
        path, written = make(cloud, kind), tmp_path / kind
        target = f"{path}?path={quote(str(written), safe='')}"
        foreign = cloud.send_raw("POST", target, b"", {"origin": EVIL, "content-type": "text/plain"})
        assert (foreign.status, written.exists()) == (403, False)
        unsigned = cloud.send_raw("POST", target)
        assert (unsigned.status, written.exists()) == ((200, True) if kind == "NONE" else (403, False))
        if kind == "AWS_IAM":
            assert unsigned.headers["content-type"] == "application/json"
            guessed = cloud.signed(
                "POST", target, service="execute-api", key=AccessKey(cloud.emulator.key.id, "guessed")
            )
            assert (cloud.send_raw("POST", target, b"", guessed).status, written.exists()) == (403, False)
        assert cloud.send_raw("POST", target, b"", cloud.signed("POST", target, service="execute-api")).status == 200
        assert written.exists()


def test_presigned_requests_of_other_services_expire(cloud: Any, tmp_path: Path) -> None:
    path, written = _url(cloud, None, "AWS_IAM"), tmp_path / "written"
    target = f"{path}?path={quote(str(written), safe='')}"
    key = Credentials(cloud.emulator.key.id, cloud.emulator.key.secret)

    def presigned(ago: timedelta, lasts_s: int) -> str:
        request = AWSRequest("POST", f"{cloud.emulator.endpoint}{target}")
        with pytest.MonkeyPatch.context() as patch:
            time = datetime.now(UTC) - ago
            patch.setattr(botocore.auth, "get_current_datetime", lambda: time)
            SigV4QueryAuth(key, "lambda", "us-east-1", expires=lasts_s).add_auth(request)
        return str(cloud.path_of(request.url))

    # AWS allows at most seven days.
    for ago, lasts_s in ((timedelta(hours=1), 60), (timedelta(days=8), 9 * 86_400), (-timedelta(hours=1), 60)):
        assert cloud.send_raw("POST", presigned(ago, lasts_s)).status in (400, 403)
        assert not written.exists()
    assert cloud.send_raw("POST", presigned(timedelta(minutes=1), 600)).status == 200
    assert written.exists()


@pytest.mark.parametrize("make", [_url, _http_api])
@pytest.mark.parametrize("cors", [None, [FRIEND], ["*"]])
def test_an_app_s_cors_settings_choose_origins(
    make: Callable[[Any, Any], str], cors: list[str] | None, cloud: Any, tmp_path: Path
) -> None:
    path, written = make(cloud, cors), tmp_path / "written"
    target = f"{path}?path={written}"
    allowed = {None: (), FRIEND: (FRIEND,), "*": (FRIEND, EVIL, "null")}[cors[0] if cors else None]
    for origin in (FRIEND, EVIL, "null"):
        preflight = cloud.send_raw("OPTIONS", target, b"", {"origin": origin, "access-control-request-method": "POST"})
        simple = cloud.send_raw("POST", target, b"", {"origin": origin, "content-type": "text/plain"})
        headers = [each.headers.get("access-control-allow-origin") for each in (preflight, simple)]
        if origin in allowed:
            assert [preflight.status // 100, simple.status] == [2, 200]
            assert headers == [cors[0] if cors else None] * 2
            assert written.exists()
            written.unlink()
        else:
            assert [preflight.status, simple.status, *headers] == [403, 403, None, None]
            assert not written.exists()


@pytest.mark.parametrize("make", [_url, _http_api])
def test_programs_and_followed_links_reach_public_endpoints(
    make: Callable[[Any, Any], str], cloud: Any, tmp_path: Path
) -> None:
    path = make(cloud, None)
    other = {"sec-fetch-site": "cross-site"}
    link = {**other, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "sec-fetch-user": "?1"}
    refused = [
        other,
        {**link, "sec-fetch-user": "?0"},
        {**link, "sec-fetch-dest": "iframe"},
        {**other, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {"host": "evil.example"},
        {"host": f"evil.example:{cloud.host.rpartition(':')[2]}"},
    ]
    for number, headers in enumerate(refused):
        written = tmp_path / f"refused-{number}"
        assert cloud.send_raw("GET", f"{path}?path={written}", b"", headers).status == 403
        assert not written.exists()
    for number, headers in enumerate([{}, link, {"sec-fetch-site": "none"}, {"authorization": "Bearer of-the-app"}]):
        written = tmp_path / f"allowed-{number}"
        assert cloud.send_raw("GET", f"{path}?path={written}", b"", headers).status == 200
        assert written.exists()


def test_code_and_layers_are_downloaded_by_signed_urls_alone(cloud: Any) -> None:
    function = cloud.function(WRITING)
    code = cloud.awslambda.get_function(FunctionName=function)["Code"]["Location"]
    layer = cloud.layer({"python/shared.py": ""})
    found = cloud.awslambda.get_layer_version_by_arn(Arn=layer)["Content"]["Location"]
    for url in (code, found):
        assert cloud.send_raw("GET", cloud.path_of(url)).body[:2] == b"PK"
        unsigned = cloud.send_raw("GET", urlsplit(url).path)
        assert (unsigned.status, unsigned.body[:2] == b"PK") == (403, False)


def test_a_web_page_cannot_answer_for_a_function(cloud: Any, tmp_path: Path) -> None:
    """The port of a function's Runtime API: a result of a page would count as the function's."""
    source = f"""
        import os, pathlib, time

        def handler(event, context):
            pathlib.Path({str(tmp_path / "address")!r}).write_text(os.environ["AWS_LAMBDA_RUNTIME_API"])
            time.sleep(2)
            return "own"
    """
    function = cloud.function(source, Timeout=20)
    cloud.send(function)
    address = cloud.until(lambda: (tmp_path / "address").exists() and (tmp_path / "address").read_text())
    path = "/2018-06-01/runtime/init/error"
    host, text = {"host": address}, b'{"errorMessage": "planted"}'
    attacks = [{**host, "origin": EVIL}, {**host, "sec-fetch-site": "cross-site"}, {"host": "evil.example"}]
    for headers in attacks:
        assert cloud.send_raw("POST", path, text, headers, to=address).status == 403
    log = cloud.emulator.logs / f"{function}.log"
    assert "END " in cloud.until(lambda: log.exists() and "END " in log.read_text() and log.read_text())
    assert "planted" not in log.read_text()
    assert cloud.invoke(function)[0] == "own"


def test_a_key_is_new_at_each_start(cloud: Any, guarded: Any) -> None:
    keys = [cloud.emulator.key, guarded.emulator.key]
    assert len({key.id for key in keys} | {key.secret for key in keys}) == 4
    assert all(key.secret not in repr(key) for key in keys)
    command = Path(f"/proc/{cloud.emulator.pid}/cmdline").read_bytes()
    assert keys[0].secret.encode() not in command


def test_the_environment_has_the_key(cloud: Any) -> None:
    named = {name: value for name, value in cloud.emulator.environment().items() if "KEY" in name}
    assert json.dumps(named) == json.dumps(
        {"AWS_ACCESS_KEY_ID": cloud.emulator.key.id, "AWS_SECRET_ACCESS_KEY": cloud.emulator.key.secret}
    )
