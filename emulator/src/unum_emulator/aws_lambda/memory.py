"""How much memory a function's process uses; Lambda kills it above its configured size.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
Only Linux tells; elsewhere the limit is not enforced.
"""


def resident_mb(pid: int) -> int:
    """Return what the process uses now, 0 when it is gone or the system does not tell."""
    return _field(pid, b"VmRSS:")


def peak_mb(pid: int) -> int:
    """Return the most that the process ever used, 0 when it is gone or the system does not tell."""
    return _field(pid, b"VmHWM:")


def _field(pid: int, name: bytes) -> int:
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as status:  # noqa: PTH123 - is read after each invocation
            _, _, value = status.read().partition(name)
    except OSError:
        return 0
    return int(value.split(None, 1)[0]) // 1024 if value else 0
