"""EventBridge Scheduler for tests: moto keeps the schedules, and here is what moto has not, their going off."""

import re
import string
from calendar import timegm
from dataclasses import dataclass, field
from time import strptime
from typing import Any

from botocore.exceptions import ClientError

GROUP = "Flow-Group"
WORDS = re.compile(r"<aws\.scheduler\.(schedule-arn|scheduled-time|execution-id|attempt-number)>")
"""What is replaced in an input. Source: User Guide, "Adding context attributes"."""

NAME = re.compile(rf"[{string.ascii_letters}{string.digits}._-]{{1,64}}")
"""Source: API Reference, CreateSchedule, Name."""


@dataclass
class Scheduler:
    """Schedules in moto, and what was asked for."""

    client: Any
    requests: list[dict[str, Any]] = field(default_factory=list)
    refused_with: str | None = None

    def create_schedule(self, **parameters: Any) -> Any:
        self.requests.append(parameters)
        if self.refused_with is not None:
            raise ClientError({"Error": {"Code": self.refused_with, "Message": "no"}}, "CreateSchedule")
        assert NAME.fullmatch(parameters["Name"])
        return self.client.create_schedule(**parameters)

    def schedules(self) -> list[dict[str, Any]]:
        """Return all schedules with their targets."""
        names = [each["Name"] for each in self.client.list_schedules(GroupName=GROUP)["Schedules"]]
        return [self.client.get_schedule(GroupName=GROUP, Name=name) for name in names]

    def go_off(self) -> list[tuple[int, str]]:
        """The time of each schedule, in milliseconds since 1970, and the message that it sends; they are gone then."""
        found = []
        for schedule in self.schedules():
            assert (schedule["FlexibleTimeWindow"], schedule["ActionAfterCompletion"]) == ({"Mode": "OFF"}, "DELETE")
            self.client.delete_schedule(GroupName=GROUP, Name=schedule["Name"])
            at = strptime(schedule["ScheduleExpression"], "at(%Y-%m-%dT%H:%M:%S)")
            found.append((timegm(at) * 1000, replaced(schedule["Target"]["Input"])))
        return found


def replaced(text: str) -> str:
    """An input as Scheduler sends it."""
    return WORDS.sub("replaced", text)
