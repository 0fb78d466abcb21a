"""Signature Version 4 of requests without a query.

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
    """Credentials of AWS.

    Attributes:
        access_key_id: names them.
        secret_access_key: signs.
        session_token: of temporary credentials, as those of a function are.
    """

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


class Signer(NamedTuple):
    """Signs requests to one service.

    Attributes:
        service: the name that the service has in credential scopes.
        region: of its endpoint.
        credentials: to sign with.
    """

    service: str
    region: str
    credentials: Credentials

    def sign(self, method: str, path: str, headers: Mapping[str, str], body: bytes, now_s: float) -> dict[str, str]:
        """`headers` and those that authenticate the request.

        Args:
            method: of the request.
            path: encoded, as it is sent.
            headers: all that are to be signed, under their names in small letters; ``host`` must be among them.
            body: of the request.
            now_s: the time, in seconds since 1970.
        """
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_s))
        signed = {**headers, "x-amz-date": moment, **self._token()}
        ordered = sorted(signed)
        names = ";".join(ordered)
        lines = [f"{name}:{' '.join(signed[name].split())}\n" for name in ordered]
        # The path is encoded once more, as all services but S3 want it.
        canonical = [method, _quoted(path), "", "".join(lines), names, hashlib.sha256(body).hexdigest()]
        scope = f"{moment[:8]}/{self.region}/{self.service}/aws4_request"
        digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
        key = _key(self.credentials.secret_access_key, scope)
        signature = _hmac(key, f"{ALGORITHM}\n{moment}\n{scope}\n{digest}").hex()
        key_id = self.credentials.access_key_id
        proof = f"{ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {**signed, "authorization": proof}

    def _token(self) -> dict[str, str]:
        token = self.credentials.session_token
        return {} if token is None else {"x-amz-security-token": token}


@lru_cache(maxsize=8)
def _key(secret: str, scope: str) -> bytes:
    """The key that is good for `scope` alone, which is a service on one day."""
    return reduce(_hmac, scope.split("/"), f"AWS4{secret}".encode())


_quoted = lru_cache(maxsize=64)(quote)
"""Quoted paths: a function has few successors."""


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
