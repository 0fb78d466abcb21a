"""How much memory a function's process uses; Lambda kills it above its configured size.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
Only Linux tells; elsewhere the limit is not enforced.
"""

import re
from pathlib import Path

_FIELD = re.compile(r"^(?P<name>VmRSS|VmHWM):\s+(?P<kb>\d+) kB$", re.MULTILINE)


def resident_mb(pid: int) -> int:
    """Return what the process uses now, 0 when it is gone or the system does not tell."""
    return _fields(pid).get("VmRSS", 0)


def peak_mb(pid: int) -> int:
    """Return the most that the process ever used, 0 when it is gone or the system does not tell."""
    return _fields(pid).get("VmHWM", 0)


def _fields(pid: int) -> dict[str, int]:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return {}
    return {match["name"]: int(match["kb"]) // 1024 for match in _FIELD.finditer(status)}
