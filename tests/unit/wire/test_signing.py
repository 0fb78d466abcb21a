"""Signatures, compared with botocore's."""

import time
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import botocore.auth
from botocore.auth import SIGNED_HEADERS_BLACKLIST, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.wire.signing import Credentials, Signer

PRINTABLE = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True).filter(
    lambda name: name not in {"host", "authorization", *SIGNED_HEADERS_BLACKLIST}
)
KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=40)
SIGNERS = st.builds(
    Signer,
    st.sampled_from(["dynamodb", "lambda", "sqs"]),
    st.sampled_from(["us-east-1", "cn-north-1", "us-gov-west-1"]),
    st.builds(Credentials, KEYS, KEYS, st.none() | KEYS),
)
PATHS = st.lists(st.text().filter(lambda part: part not in {"", ".", ".."})).map(
    lambda parts: "/" + "/".join(quote(part, safe="~") for part in parts)
)
MOMENTS = st.integers(0, 4_000_000_000)


def by_botocore(signer: Signer, path: str, headers: dict[str, str], body: bytes, now_s: float) -> dict[str, str]:
    url = f"https://{headers['host']}{path}"
    request = AWSRequest("POST", url, {name: value for name, value in headers.items() if name != "host"}, body)
    moment = datetime.fromtimestamp(now_s, UTC).replace(tzinfo=None)
    with patch.object(botocore.auth, "get_current_datetime", lambda **_: moment):
        SigV4Auth(BotocoreCredentials(*signer.credentials), signer.service, signer.region).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()} | {"host": headers["host"]}


@given(
    signer=SIGNERS,
    path=PATHS,
    headers=st.dictionaries(NAMES, st.text(PRINTABLE)),
    port=st.sampled_from(["", ":8000"]),
    body=st.binary(),
    now_s=MOMENTS,
)
def test_signatures_equal_botocores(signer: Signer, port: str, **request: Any) -> None:
    request["headers"] |= {"host": f"{signer.service}.{signer.region}.amazonaws.com{port}"}
    ours = signer.sign("POST", *(request[name] for name in ("path", "headers", "body", "now_s")))
    assert ours == by_botocore(signer, **request)


def test_the_time_is_utc() -> None:
    signed = Signer("sqs", "us-east-1", Credentials("id", "secret")).sign("POST", "/", {"host": "h"}, b"", 1e9 + 0.9)
    assert signed["x-amz-date"] == "20010909T014640Z"
    assert time.strftime("%Y%m%d", time.gmtime(1e9)) in signed["authorization"]
