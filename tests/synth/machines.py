"""State machines in few words."""

from typing import Any

Machine = dict[str, Any]


def task(function: str, then: str | None = None) -> Machine:
    return {"Type": "Task", "Resource": function, **following(then)}


def choice(default: str, **others: str) -> Machine:
    """Goes to `default`, or where the input has a field, to the state given for it."""
    rules = [{"Variable": f"$.{field}", "IsPresent": True, "Next": state} for field, state in others.items()]
    return {"Type": "Choice", "Choices": rules, "Default": default}


def machine(**states: Machine) -> Machine:
    """Begins with the first state."""
    return {"StartAt": next(iter(states)), "States": states}


def chain(*functions: str) -> Machine:
    return machine(**{name: task(name, then) for name, then in zip(functions, (*functions[1:], None), strict=True)})


def parallel(*branches: Machine, then: str | None = None) -> Machine:
    return {"Type": "Parallel", "Branches": list(branches), **following(then)}


def a_map(branch: Machine, then: str | None = None, **fields: Any) -> Machine:
    return {"Type": "Map", "ItemProcessor": branch, **fields, **following(then)}


def following(then: str | None) -> Machine:
    return {"End": True} if then is None else {"Next": then}
