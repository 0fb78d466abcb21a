"""The decision about each request, before any service of the emulator sees it."""

from unum_emulator.access import opened_endpoints, signatures
from unum_emulator.access.access_keys import Keys
from unum_emulator.access.guarded_requests import AccessRefusedError, Request
from unum_emulator.access.opened_endpoints import Origins, is_followed_link


class Guard:
    """Decisions of one emulator."""

    def __init__(self, keys: Keys, origins: Origins) -> None:
        self._keys = keys
        self._origins = origins

    def admit_head(self, request: Request) -> bool:
        """Decide on a request before its body arrives.

        Returns:
            True if the request also needs a signature, which covers the body.

        Raises:
            AccessRefusedError: foreign host, foreign origin, or no signature where one is needed.
        """
        self._admit_origin(request)
        if opened_endpoints.needs_no_signature(request) or self.is_preflight(request):
            return False
        if not signatures.is_attempted(request):
            signatures.verify(request, b"", self._keys.secret)  # raises an error that says what is missing
        return True

    def admit_signed(self, request: Request, body: bytes) -> None:
        """Return if `request`, of a kind that always needs a signature, comes from here and is signed.

        Raises:
            AccessRefusedError: it does not, or is not.
        """
        self._admit_origin(request)
        self.admit_body(request, body)

    def admit_body(self, request: Request, body: bytes) -> None:
        """Return if the signature of `request` fits.

        Raises:
            AccessRefusedError: it does not.
        """
        signatures.verify(request, body, self._keys.secret)

    def is_preflight(self, request: Request) -> bool:
        """Return True if `request` is a preflight of another origin, whose endpoint allows that origin."""
        return request.method == "OPTIONS" and self._origins.is_foreign(request) and self._allows(request)

    def _admit_origin(self, request: Request) -> None:
        """Return if neither the host nor the origin of `request` is foreign, or the app allows that origin.

        Raises:
            AccessRefusedError: one of them is.
        """
        if not self._origins.is_own_host(request):
            raise AccessRefusedError(
                "AccessDenied",
                f"Host: expected 127.0.0.1:{self._origins.port} or localhost:{self._origins.port}, got "
                f"{request.host!r}. The emulator answers under these names only.",
            )
        if self._origins.is_foreign(request) and not self._may_use(request):
            raise AccessRefusedError(
                "AccessDenied",
                f"Origin: {request.origin or 'another site'!r} is not this emulator's. Web pages of other origins may "
                "use a function URL, an HTTP API or a bucket whose CORS settings name their origin.",
            )

    def _may_use(self, request: Request) -> bool:
        # A person who follows a link or sees an image gets the answer; the page that shows them does not.
        return self._allows(request) or is_followed_link(request) or _is_presigned_download(request)

    def _allows(self, request: Request) -> bool:
        return request.origin is not None and opened_endpoints.allows_origin(request, request.origin)


def _is_presigned_download(request: Request) -> bool:
    """Return True for a presigned URL that a page embeds as an image or a download."""
    return request.origin is None and request.method in ("GET", "HEAD") and signatures.is_presigned(request)
