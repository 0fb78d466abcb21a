"""Signature Version 4 for requests without a query string.

Source: AWS Identity and Access Management User Guide, "Create a signed AWS API request".
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from functools import lru_cache, reduce
from urllib.parse import quote

from unum_runtime.cold_start.records import NamedTuple

ALGORITHM = "AWS4-HMAC-SHA256"


class Credentials(NamedTuple):
    """AWS credentials.

    Attributes:
        access_key_id: public identifier of the key.
        secret_access_key: secret for signatures.
        session_token: token of temporary credentials, such as a function's.
    """

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


class Signer(NamedTuple):
    """Signer of requests to one service.

    Attributes:
        service: name of the service in credential scopes.
        region: region of the endpoint.
        credentials: credentials for signatures.
    """

    service: str
    region: str
    credentials: Credentials

    def sign(self, method: str, path: str, headers: Mapping[str, str], body: bytes, now_s: float) -> dict[str, str]:
        """Return `headers` plus the headers that authenticate the request.

        Args:
            method: HTTP method.
            path: URL-encoded path.
            headers: headers to sign, with lower-case names; ``host`` is required.
            body: request body.
            now_s: current time, in seconds since 1970.
        """
        timestamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_s))
        signed = {**headers, "x-amz-date": timestamp, **self._token()}
        ordered = sorted(signed)
        names = ";".join(ordered)
        lines = [f"{name}:{' '.join(signed[name].split())}\n" for name in ordered]
        # All services except S3 require a second encoding of the path.
        canonical = [method, _quoted(path), "", "".join(lines), names, hashlib.sha256(body).hexdigest()]
        scope = f"{timestamp[:8]}/{self.region}/{self.service}/aws4_request"
        digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
        key = _key(self.credentials.secret_access_key, scope)
        signature = _hmac(key, f"{ALGORITHM}\n{timestamp}\n{scope}\n{digest}").hex()
        key_id = self.credentials.access_key_id
        proof = f"{ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {**signed, "authorization": proof}

    def _token(self) -> dict[str, str]:
        token = self.credentials.session_token
        return {} if token is None else {"x-amz-security-token": token}


@lru_cache(maxsize=8)
def _key(secret: str, scope: str) -> bytes:
    """Return the signing key for `scope`: one service and region on one day."""
    return reduce(_hmac, scope.split("/"), f"AWS4{secret}".encode())


_quoted = lru_cache(maxsize=64)(quote)
"""Function `quote` with a cache: a function has few successors, thus few paths."""


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
