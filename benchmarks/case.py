"""A typical Task with all five data-flow fields, and one visit's input and result."""

from typing import Any

TASK: dict[str, Any] = {
    "Type": "Task",
    "Resource": "arn:aws:lambda:us-east-1:123456789012:function:charge",
    "InputPath": "$.detail",
    "Parameters": {
        "customer.$": "$.customer.id",
        "address.$": "$.customer.addresses[0]",
        "items.$": "$.items[*].sku",
        "reference.$": "States.Format('{}-{}', $.customer.id, $$.Execution.Name)",
        "options": {"currency": "EUR", "capture": True, "limit.$": "$.limit"},
    },
    "ResultSelector": {"receipt.$": "$.receipt.number", "charged.$": "$.amount"},
    "ResultPath": "$.detail.payment",
    "OutputPath": "$.detail",
    "End": True,
}

INPUT: dict[str, Any] = {
    "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
    "source": "shop",
    "time": "2025-11-12T18:43:48Z",
    "detail": {
        "customer": {
            "id": "c-17",
            "name": "Ada",
            "addresses": [
                {"street": "Main Street 1", "city": "Town", "zip": "12345"},
                {"street": "Side Street 2", "city": "Village", "zip": "54321"},
            ],
        },
        "items": [{"sku": f"sku-{number}", "price": number * 1.5, "count": number} for number in range(1, 6)],
        "limit": 500,
    },
}

RESULT: dict[str, Any] = {"receipt": {"number": "r-1", "page": 3}, "amount": 22.5, "status": "done"}

PARAMETERS: dict[str, Any] = {
    "customer": "c-17",
    "address": {"street": "Main Street 1", "city": "Town", "zip": "12345"},
    "items": ["sku-1", "sku-2", "sku-3", "sku-4", "sku-5"],
    "reference": "c-17-run-1",
    "options": {"currency": "EUR", "capture": True, "limit": 500},
}

OUTPUT: dict[str, Any] = {**INPUT["detail"], "payment": {"receipt": "r-1", "charged": 22.5}}

EXECUTION_NAME = "run-1"
