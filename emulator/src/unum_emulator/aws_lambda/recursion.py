"""Lambda's recursive loop detection, with a count per function as on AWS.

"If your function is invoked approximately 16 times in the same chain of requests, then Lambda automatically stops the
next function invocation in that request chain", unless its RecursiveLoop is `Allow`. The X-Ray header identifies the
chain; SDKs copy it from one call to the next. https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
ministack counts all functions of a chain together. So a long workflow without a loop fails there, and `Allow` of the
looping function hardly matters.
"""

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from unum_emulator.aws_lambda.function_version import FunctionRef

LIMIT = 16
HEADER = "x-amzn-trace-id"


@dataclass(frozen=True)
class Lineage:
    """Invocations per function in the chain of requests behind an invocation; `sampled` if X-Ray keeps its trace."""

    root: str
    counts: Mapping[str, int] = field(default_factory=dict)
    sampled: bool = False

    @classmethod
    def new(cls) -> "Lineage":
        """Start a chain."""
        return cls(f"1-{int(time.time()):08x}-{secrets.token_hex(12)}")

    @classmethod
    def parse(cls, header: str | None) -> "Lineage":
        """Parse `Root=...;Parent=...;Sampled=1;Lineage=HASH:COUNT|HASH:COUNT`; without a root, start a chain."""
        fields = dict(part.split("=", 1) for part in unquote(header or "").split(";") if "=" in part)
        if "Root" not in fields:
            return cls.new()
        entries = [entry.split(":") for entry in fields.get("Lineage", "").split("|") if entry]
        counts = {entry[0]: int(entry[-1]) for entry in entries}
        return cls(fields["Root"], counts, fields.get("Sampled") == "1")

    def with_invocation_of(self, function: FunctionRef, *, traced: bool = False) -> "Lineage":
        """Return the chain with one more invocation of `function`; one with active tracing samples every chain."""
        name = _hash(function)
        counts = {**self.counts, name: self.counts.get(name, 0) + 1}
        return Lineage(self.root, counts, self.sampled or traced)

    def exceeds(self, function: FunctionRef) -> bool:
        """Return True if Lambda stops the next invocation of `function` in this chain."""
        if self.counts.get(_hash(function), 0) < LIMIT:
            return False
        return bool(function.base_record().get("recursive_loop") != "Allow")

    def header(self, delivery: str) -> str:
        """Return the X-Ray header for one delivery to the invoked function, which passes it on."""
        counts = "|".join(f"{name}:{count}" for name, count in self.counts.items())
        return f"Root={self.root};Parent={delivery};Sampled={int(self.sampled)};Lineage={counts}"


def loop_error(function: FunctionRef) -> dict[str, Any]:
    """Return Lambda's error for a stopped loop."""
    return {
        "errorType": "RecursiveInvocationException",
        "errorMessage": "Lambda has detected your function being invoked in a recursive loop with other "
        f"Amazon Web Services resources and stopped your function's invocation: {function.unqualified}",
    }


@lru_cache(1024)
def _hash(function: FunctionRef) -> str:
    # AWS's header also has hashes in place of names, so handlers must not parse it.
    return hashlib.sha256(function.unqualified.encode()).hexdigest()[:8]
