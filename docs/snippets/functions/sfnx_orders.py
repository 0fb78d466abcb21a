"""An order, priced and mailed; sfnx compiles it to the Amazon States Language, and never runs it."""

from typing import TypedDict

from sfnx import Timeout, aws, inline_map, state_machine

MOST = 100_000
RETRY = [{"ErrorEquals": [Timeout], "MaxAttempts": 2}]


class Line(TypedDict):
    """A line of an order."""

    item: str
    count: int


class Order(TypedDict):
    """The input of an execution."""

    lines: list[Line]
    mail: str


class Priced(TypedDict):
    """The result of the function ``Price``."""

    cents: int


class Answer(TypedDict):
    """What Lambda answers."""

    Payload: Priced


class Total(TypedDict):
    """The output of an execution."""

    total: int
    lines: int


class TooLargeError(Exception):
    """Nobody may order that much."""


def price(line: Line) -> int:
    """Return the price of a line, from the function ``Price``."""
    priced: Answer = aws.optimized.lambda_.invoke(FunctionName="Price", Payload=line, retry=RETRY)
    return priced["Payload"]["cents"]


@state_machine(timeout=600)
def orders(input: Order) -> Total:  # noqa: A002 - the name that sfnx gives it
    """Price all lines of an order, and mail the total."""
    cents = inline_map(price, input["lines"])
    total = sum(cents)
    if total > MOST:
        raise TooLargeError(f"{total} cents")
    aws.optimized.sqs.send_message(QueueUrl="${Queue}", MessageBody={"to": input["mail"], "total": total})
    return {"total": total, "lines": len(cents)}
