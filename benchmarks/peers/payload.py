"""Payload of all measurements: about 1 KB of JSON."""

from typing import Any

PAYLOAD: dict[str, Any] = {
    f"field-{number:02}": {"id": number, "name": "x" * 20, "tags": ["a", "b"]} for number in range(15)
}
