"""A Task with Powertools for AWS Lambda: logs, metrics, traces, a checked event, and one payment for one invocation."""

import os
from typing import Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.parser import BaseModel, Field, event_parser

logger = Logger(service="orders")
metrics = Metrics(namespace="Shop", service="orders")
tracer = Tracer(service="orders")
idempotency = IdempotencyConfig()
payments = DynamoDBPersistenceLayer(table_name=os.environ.get("PAYMENTS_TABLE", "payments"), key_attr="key")


class Order(BaseModel):
    """The event of the Task."""

    id: str
    cents: int = Field(gt=0)


@logger.inject_lambda_context
@tracer.capture_lambda_handler
@metrics.log_metrics(capture_cold_start_metric=True)
@event_parser(model=Order)
def charge(order: Order, context: Any) -> dict[str, Any]:
    """Charge an order once, however often Lambda delivers the event."""
    idempotency.register_lambda_context(context)
    receipt: dict[str, Any] = pay(payment=context.unum.idempotency_key, order=order)
    metrics.add_metric(name="Charged", unit=MetricUnit.Count, value=1)
    logger.info("charged", state=context.unum.state, receipt=receipt["id"])
    return {"order": order.id, "cents": order.cents, "receipt": receipt["id"]}


@idempotent_function(data_keyword_argument="payment", config=idempotency, persistence_store=payments)
def pay(payment: str, order: Order) -> dict[str, Any]:
    """Pay; Powertools stores the result under the invocation's key."""
    logger.info("paying", cents=order.cents)
    return {"id": f"{order.id}/{payment[-1]}"}
