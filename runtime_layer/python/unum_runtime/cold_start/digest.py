"""SHA-256, with a lazy import of `hashlib`, which takes as long as ten modules and many functions never need."""


def sha256(content: bytes) -> str:
    """Return the digest of `content` in 64 hexadecimal digits."""
    import hashlib  # noqa: PLC0415 - see above

    return hashlib.sha256(content).hexdigest()


def short_digest(content: bytes) -> str:
    """Return the first twelve digits of the digest, which identify a version of a workflow."""
    return sha256(content)[:12]
