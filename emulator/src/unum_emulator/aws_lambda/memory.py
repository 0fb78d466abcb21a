"""Memory usage of a function's process; Lambda kills it above its configured size.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html Only Linux reports the usage; other systems
enforce no limit.
"""


def resident_mb(pid: int) -> int:
    """Return the process's current usage in MB; 0 after its end or on other systems."""
    return _field(pid, b"VmRSS:")


def peak_mb(pid: int) -> int:
    """Return the process's peak usage in MB; 0 after its end or on other systems."""
    return _field(pid, b"VmHWM:")


def _field(pid: int, name: bytes) -> int:
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as status:  # noqa: PTH123 - is read after each invocation
            _, _, value = status.read().partition(name)
    except OSError:
        return 0
    return int(value.split(None, 1)[0]) // 1024 if value else 0
