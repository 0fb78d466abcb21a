"""SHA-256. What computes it is loaded with the first one, for it takes as long as ten modules, and many need none."""


def sha256(content: bytes) -> str:
    """The digest of `content`, in 64 hexadecimal digits."""
    import hashlib  # noqa: PLC0415 - see above

    return hashlib.sha256(content).hexdigest()
