"""Addresses of CloudWatch Logs Insights in AWS's console, with a query for lines of an execution.

AWS does not document the form of such an address; the console itself shows it when a query runs. An address of another
form opens the console with an empty query.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from unum_cli.logs.execution_logs import LONGEST, SLACK, Invocation

MOST_GROUPS = 50
"""Log groups of one query. Source: Amazon CloudWatch Logs User Guide, "CloudWatch Logs quotas"."""

MOST_REQUESTS = 50
"""Requests that a query names, so that browsers and terminals take its address."""

_ENDPOINT = re.compile(r"https://[^/]*\.(?P<domain>amazonaws\.com(\.cn)?)/?")
_CONSOLES = {"amazonaws.com": "console.aws.amazon.com", "amazonaws.com.cn": "console.amazonaws.cn"}
_US_GOV = "console.amazonaws-us-gov.com"
_PUNCTUATION = str.maketrans({"~": "$257E", "(": "$2528", ")": "$2529", "'": "$2527"})
_PLAIN = re.compile(rb"[^A-Za-z0-9_.-]")


class Console(NamedTuple):
    """AWS's console of one region.

    Attributes:
        host: name of the host.
        region: name of the region.
    """

    host: str
    region: str

    @classmethod
    def of(cls, logs: Any) -> "Console | None":
        """Return the console for the boto3 client `logs`; None in an emulator, and without a region."""
        found = getattr(logs, "meta", None)
        region, endpoint = getattr(found, "region_name", None), getattr(found, "endpoint_url", None)
        match = _ENDPOINT.fullmatch(endpoint or "")
        if match is None or not isinstance(region, str):
            return None
        host = _US_GOV if region.startswith("us-gov-") else _CONSOLES[match["domain"]]
        return cls(f"{region}.{host}", region)

    def of_attempt(self, invocation: Invocation) -> str:
        """Return the address of a query for the lines of one attempt."""
        said = f"@message like {_quoted(invocation.request_id)}"
        # A sandbox runs one invocation at a time, and lines of user code may not name theirs.
        stream = f" or @logStream = {_quoted(invocation.log_stream)}" if invocation.steps else ""
        return self._query([invocation.log_group], f"{said}{stream}", invocation.began_at - SLACK, _end(invocation))

    def of_execution(self, name: str, invocations: Iterable[Invocation]) -> str | None:
        """Return the address of a query for the lines of an execution; None without invocations."""
        found = [*invocations]
        if not found:
            return None
        requests = ", ".join(_quoted(each.request_id) for each in found[:MOST_REQUESTS])
        said = f"@requestId in [{requests}] or @message like {_quoted(name)}"
        begin, end = min(each.began_at for each in found) - SLACK, max(map(_end, found))
        return self._query([*dict.fromkeys(each.log_group for each in found)], said, begin, end)

    def _query(self, groups: list[str], said: str, begin: datetime, end: datetime) -> str:
        query = f"fields @timestamp, @message\n| filter {said}\n| sort @timestamp asc\n| limit 1000"
        fields = {
            "end": f"'{_escaped(_text(end))}",
            "start": f"'{_escaped(_text(begin))}",
            "timeType": "'ABSOLUTE",
            "tz": "'UTC",
            "editorString": f"'{_escaped(query)}",
            "source": f"({''.join(f'~{chr(39)}{_escaped(group)}' for group in groups[:MOST_GROUPS])})",
        }
        detail = f"~({'~'.join(f'{name}~{value}' for name, value in fields.items())})".translate(_PUNCTUATION)
        home = f"https://{self.host}/cloudwatch/home?region={self.region}"
        return f"{home}#logsV2:logs-insights$3FqueryDetail$3D{detail}"


def _end(invocation: Invocation) -> datetime:
    """Return a time after the last line of `invocation`."""
    if invocation.steps:
        return invocation.steps[-1].committed_at + SLACK
    return invocation.began_at + 2 * LONGEST + SLACK


def _text(at: datetime) -> str:
    up = at.astimezone(UTC) + timedelta(microseconds=999)
    return f"{up:%Y-%m-%dT%H:%M:%S}.{up.microsecond // 1000:03}Z"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    return _PLAIN.sub(lambda found: b"*%02x" % found[0][0], text.encode()).decode()
