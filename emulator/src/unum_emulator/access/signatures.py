"""Verification of AWS signatures, version 4 in headers and URLs, version 2 in URLs, and of forms for S3.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-post-example.html

Everything that names a caller must occur once, because ministack reads the caller from the same request again.
"""

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlsplit

from botocore.auth import HmacV1QueryAuth
from botocore.awsrequest import HTTPHeaders
from botocore.credentials import Credentials
from ministack.core import sigv4
from ministack.services import s3

from unum_emulator.access.guarded_requests import AccessRefusedError, Request

Secret = Callable[[str, str], str]
"""Function that returns the secret of an access key with a session token; raises AccessRefusedError."""

_ALGORITHM = "AWS4-HMAC-SHA256"
_AUTHORIZATION = re.compile(
    rf"{_ALGORITHM} Credential=(?P<credential>[^,\s]+),\s*SignedHeaders=(?P<signed>[^,\s]+),"
    r"\s*Signature=(?P<signature>[0-9a-f]{64})"
)
_CREDENTIAL = re.compile(
    r"(?P<key>[^/,\s=]+)/(?P<date>\d{8})/(?P<region>[^/,\s=]+)/(?P<service>[^/,\s=]+)/aws4_request"
)
_DATE = "%Y%m%dT%H%M%SZ"
_SKEW = timedelta(minutes=15)
_LONGEST = timedelta(days=7)
_HASH = re.compile("[0-9a-f]{64}")
_UNSIGNED = "UNSIGNED-PAYLOAD"
_V2 = ("AWSAccessKeyId", "Signature", "Expires")
_V4 = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Signature", "X-Amz-Expires")
_NAMES = frozenset(name.lower() for name in (*_V2, *_V4, "X-Amz-Security-Token"))
"""Query parameters that belong to a signature, in lower case."""
_TELLING = _NAMES - {"expires", "signature"}
"""Those of them that mean nothing else."""


@dataclass(frozen=True)
class _Signature:
    """A signature of version 4 and its scope."""

    key: str
    date: str
    region: str
    service: str
    signed: str
    value: str
    signed_at: str
    token: str


def is_attempted(request: Request) -> bool:
    """Return True if `request` has a signature, right or wrong, in a header, its URL or a form."""
    return "authorization" in request.headers or is_presigned(request) or _is_form(request)


def verify(request: Request, body: bytes, secret: Secret, now: datetime | None = None) -> None:
    """Return if `request` is signed with the secret of its key.

    Raises:
        AccessRefusedError: no signature, an unsupported or a wrong one, an unknown key, or the time is over.
    """
    now = now or datetime.now(UTC)
    has_header, has_query = "authorization" in request.headers, is_presigned(request)
    if has_header and has_query:
        raise _incomplete("Only one auth mechanism allowed: the request has both an Authorization header and a query")
    if has_header:
        _verify_header(request, body, secret, now)
    elif has_query:
        _verify_query(request, body, secret, now)
    elif _is_form(request):
        _verify_form(request, body, secret)
    else:
        raise AccessRefusedError(
            "MissingAuthenticationToken",
            "Missing Authentication Token: this emulator answers signed requests only. Use AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY that `make emulator` and `unum dev` print.",
        )


def _verify_header(request: Request, body: bytes, secret: Secret, now: datetime) -> None:
    found = _AUTHORIZATION.fullmatch(request.headers["authorization"])
    signed_at = request.headers.get("x-amz-date", "")
    if not found or not signed_at or request.repeated & {"authorization", "x-amz-date", "x-amz-security-token"}:
        raise _incomplete(
            f"Expected one header Authorization: {_ALGORITHM} Credential=..., SignedHeaders=..., Signature=... and one "
            "header X-Amz-Date"
        )
    token = request.headers.get("x-amz-security-token", "")
    signature = _signature(found["credential"], found["signed"], found["signature"], signed_at, token)
    if abs(now - _time(signed_at)) > _SKEW:
        raise AccessRefusedError(
            "RequestTimeTooSkewed",
            f"Signature expired or not yet current: {signed_at}; expected within 15 minutes of {now.strftime(_DATE)}",
        )
    _compare(request, signature, secret, _payload_hash(request, signature.service, body), request.parameters)


def _verify_query(request: Request, body: bytes, secret: Secret, now: datetime) -> None:
    given = [name.lower() for name, _ in request.parameters if name.lower() in _NAMES]
    if len(given) != len({*given}):
        raise _incomplete("Expected each query parameter of a signature once")
    if request.parameter(_V2[0]):
        _verify_version_2(request, secret, now)
        return
    credential, signed_at, signed, value = (request.parameter(name) for name in _V4[1:5])
    if request.parameter("X-Amz-Algorithm") != _ALGORITHM:
        raise _incomplete(f"Expected X-Amz-Algorithm={_ALGORITHM}, got {request.parameter('X-Amz-Algorithm')!r}")
    signature = _signature(credential, signed, value, signed_at, request.parameter("X-Amz-Security-Token"))
    expires = request.parameter("X-Amz-Expires")
    # Without it, a query is as short-lived as a header.
    lasts = min(timedelta(seconds=int(expires)), _LONGEST) if expires.isascii() and expires.isdigit() else _SKEW
    if not _time(signed_at) - _SKEW <= now <= _time(signed_at) + lasts:
        raise _expired()
    payload = _UNSIGNED if signature.service == "s3" else _payload_hash(request, signature.service, body)
    others = [(name, value) for name, value in request.parameters if name != "X-Amz-Signature"]
    _compare(request, signature, secret, payload, others)


def _compare(
    request: Request, signature: _Signature, secret: Secret, payload: str, parameters: list[tuple[str, str]]
) -> None:
    """Compare `signature` with that of the request.

    Raises:
        AccessRefusedError: it differs, or its key is unknown.
    """
    signed = signature.signed.split(";")
    if "host" not in signed:
        raise _incomplete("Expected the header host among SignedHeaders")
    # The path is encoded once more than it was sent, except in S3, whose names may have any number of slashes.
    path = request.raw_path if signature.service == "s3" else _encoded(request.raw_path)
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in parameters)
    canonical = "\n".join(
        (
            request.method,
            path or "/",
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{' '.join(request.headers.get(name, '').split())}" for name in signed),
            "",
            signature.signed,
            payload,
        )
    )
    scope = f"{signature.date}/{signature.region}/{signature.service}/aws4_request"
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    text = f"{_ALGORITHM}\n{signature.signed_at}\n{scope}\n{digest}"
    key = _signing_key(secret(signature.key, signature.token), signature.date, signature.region, signature.service)
    if not hmac.compare_digest(hmac.new(key, text.encode(), "sha256").hexdigest(), signature.value):
        raise AccessRefusedError("SignatureDoesNotMatch", sigv4.SIGNATURE_MISMATCH)


@lru_cache(256)
def _signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    key: bytes = sigv4.derive_signing_key(secret, date, region, service)
    return key


@lru_cache(256)
def _encoded(raw_path: str) -> str:
    return quote(sigv4._remove_dot_segments(raw_path), safe="/-_.~")


def _payload_hash(request: Request, service: str, body: bytes) -> str:
    """Return the hash of the body for the signature.

    S3 accepts a word in its place for content that is not signed, or signed in parts; the key is proved all the same.
    """
    given = request.headers.get("x-amz-content-sha256")
    if given and service.startswith("s3") and not _HASH.fullmatch(given):
        return given
    found = hashlib.sha256(body).hexdigest()
    if given and given != found:
        raise AccessRefusedError(
            "SignatureDoesNotMatch", f"X-Amz-Content-SHA256: expected the body's hash {found}, got {given!r}"
        )
    return found


def _signature(credential: str, signed: str, value: str, signed_at: str, token: str) -> _Signature:
    key, date, region, service = _scope(credential)
    if not signed or not _HASH.fullmatch(value):
        raise _incomplete("Expected signed headers and a signature of 64 hexadecimal digits")
    if date != signed_at[:8]:
        raise _incomplete(f"Expected one date in credential and request, got {date} and {signed_at!r}")
    return _Signature(key, date, region, service, signed, value, signed_at, token)


@lru_cache(256)
def _scope(credential: str) -> tuple[str, str, str, str]:
    """Return access key, date, region and service of a credential."""
    if not (found := _CREDENTIAL.fullmatch(credential)):
        raise _incomplete(f"Expected a credential KEY/DATE/REGION/SERVICE/aws4_request, got {credential!r}")
    return found["key"], found["date"], found["region"], found["service"]


@lru_cache(64)
def _time(text: str) -> datetime:
    try:
        return datetime.strptime(text, _DATE).replace(tzinfo=UTC)
    except ValueError:
        raise _incomplete(f"Expected a time like 20260131T120000Z, got {text!r}") from None


def is_presigned(request: Request) -> bool:
    """Return True if the query of `request` has a signature, right or wrong."""
    return bool(request.query) and any(name.lower() in _TELLING for name, _ in request.parameters)


class _Version2(HmacV1QueryAuth):
    """botocore's signature of version 2, for the time that a client has signed."""

    def __init__(self, credentials: Credentials, expires: str) -> None:
        super().__init__(credentials)
        self._date = expires

    def _get_date(self) -> str:
        return self._date


def _verify_version_2(request: Request, secret: Secret, now: datetime) -> None:
    """Verify an S3 URL as botocore signs it by default in the oldest regions."""
    key, given, expires = (request.parameter(name) for name in _V2)
    if not given or not expires.isascii() or not expires.isdigit():
        raise _incomplete("Expected AWSAccessKeyId, Signature and Expires in the query")
    if now.timestamp() > int(expires):
        raise _expired()
    headers: Any = HTTPHeaders()
    for name, value in (*request.headers.items(), *request.parameters):
        if name.lower().startswith("x-amz-") or name.lower() in ("content-md5", "content-type"):
            del headers[name]
            headers[name] = value
    token = request.parameter("x-amz-security-token")
    signer = _Version2(Credentials(key, secret(key, token), token or None), expires)
    expected = signer.get_signature(request.method, urlsplit(f"http://{request.raw_path}?{request.query}"), headers)
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise AccessRefusedError("SignatureDoesNotMatch", sigv4.SIGNATURE_MISMATCH)


def _is_form(request: Request) -> bool:
    """Return True for a form that a browser uploads to a bucket; its fields have the signature."""
    is_bucket = request.raw_path.strip("/") != "" and "/" not in request.raw_path.strip("/")
    content_type = request.headers.get("content-type", "")
    return request.method == "POST" and is_bucket and content_type.lower().startswith("multipart/form-data")


def _verify_form(request: Request, body: bytes, secret: Secret) -> None:
    """Verify the signature of a form's policy; ministack compares the other fields with the policy."""
    fields = _fields(request.headers, body)
    token, policy = fields.get("x-amz-security-token", ""), fields.get("policy", "")
    if not policy:
        raise _incomplete("Expected a form with a signed policy, as S3's generate_presigned_post makes it")
    if "awsaccesskeyid" in fields and "x-amz-credential" in fields:
        raise _incomplete("Only one auth mechanism allowed: the form has two")
    if key := fields.get("awsaccesskeyid"):
        given = fields.get("signature", "")
        expected = _Version2(Credentials(key, secret(key, token)), "").sign_string(policy)
    else:
        given = fields.get("x-amz-signature", "")
        signed_at, credential = fields.get("x-amz-date", ""), fields.get("x-amz-credential", "")
        scope = _signature(credential, "policy", given, signed_at, token)
        signing = _signing_key(secret(scope.key, token), scope.date, scope.region, scope.service)
        expected = hmac.new(signing, policy.encode(), "sha256").hexdigest()
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise AccessRefusedError("SignatureDoesNotMatch", sigv4.SIGNATURE_MISMATCH)


def _fields(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, _, _, value in s3._parse_multipart_form(headers["content-type"], body):
        if name == "file":
            continue
        if name.lower() in found:
            raise _incomplete(f"Expected each field of a form once, got {name!r} again")
        found[name.lower()] = value.decode("latin-1")
    return found


def _incomplete(message: str) -> AccessRefusedError:
    return AccessRefusedError("IncompleteSignature", message)


def _expired() -> AccessRefusedError:
    return AccessRefusedError("AccessDenied", f"Request has expired; now it is {time.strftime(_DATE, time.gmtime())}")
