"""Identity of callers: OIDC ID tokens that Google signs for service accounts.

Cloud Run checks that a caller may invoke a function, and lets it send any path and body. These checks say what a caller
may do: events are internal state of executions, so only the workflow's own account sends them.
"""

from functools import cache
from typing import Any

from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import Request
from google.oauth2 import id_token

from unum_runtime.errors import StoreError, UnumError

_ISSUERS = ("accounts.google.com", "https://accounts.google.com")


class Unauthorized(UnumError):
    """A request without a valid token."""


def caller_of(authorization: str | None, audience: str, certs_url: str) -> str:
    """Return the verified email of the account that sent a request.

    Args:
        authorization: the header of this name; None without one.
        audience: URL of this function, for which the token must be.
        certs_url: URL of the public keys.

    Raises:
        Unauthorized: no token, or one that is forged, expired, of another issuer, for another function, or without a
            verified email.
        StoreError: the public keys could not be read.
    """
    kind, _, token = (authorization or "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise Unauthorized("expected a bearer token, got none")
    try:
        claims: Any = id_token.verify_token(token, _transport(), audience=audience, certs_url=certs_url)
    except TransportError as error:
        raise StoreError(f"{certs_url}: {error}") from error
    except (GoogleAuthError, ValueError) as error:
        raise Unauthorized(f"token: {error}") from error
    if claims.get("iss") not in _ISSUERS or not _is_verified(claims):
        raise Unauthorized(f"token: expected a verified email of {_ISSUERS[1]}, got {claims.get('iss')!r}")
    return str(claims["email"])


def _is_verified(claims: Any) -> bool:
    return claims.get("email_verified") is True


@cache
def _transport() -> Request:
    return Request()
