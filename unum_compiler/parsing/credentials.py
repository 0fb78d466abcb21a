"""The IAM role with which a Task calls a service: ``Credentials``.

The ASL specification leaves the content open; Step Functions accepts ``RoleArn`` only. Source: AWS Step Functions
Developer Guide, "Accessing resources in other AWS accounts in Step Functions".
"""

from collections.abc import Mapping

from unum_compiler.parsing.object_reader import Part
from unum_compiler.problems import Feature, shown
from unum_runtime.asl.places import member
from unum_runtime.model.states import Json, Language

FIELD = "Credentials"

_ROLE: Mapping[Language, tuple[str, ...]] = {
    Language.JSONPATH: ("RoleArn", "RoleArn.$"),
    Language.JSONATA: ("RoleArn",),
}
_ARGUMENTS: Mapping[Language, str] = {Language.JSONPATH: "Parameters", Language.JSONATA: "Arguments"}
_INPUT: Mapping[Language, Mapping[str, str]] = {
    Language.JSONPATH: {"Parameters.$": "$"},
    Language.JSONATA: {"Parameters": "{% $states.input %}"},
}


def check_credentials(task: Part) -> None:
    """Report credentials of the service Task `task` that Step Functions does not accept."""
    credentials = task.fields.get(FIELD)
    if not isinstance(credentials, dict):
        return  # no credentials, or a wrong type that `read_data` reports
    if [*credentials] not in ([name] for name in _ROLE[task.language]):
        allowed = " or ".join(f'"{name}"' for name in _ROLE[task.language])
        task.unsupported(FIELD, Feature.CREDENTIALS, f"write an object with {allowed} alone")
    elif not isinstance(role := credentials.get("RoleArn", ""), str):
        task.report.mistake(member(task.at(FIELD), "RoleArn"), f"expected the ARN of a role, got {shown(role)}")


def refuse_credentials(task: Part, why: str) -> None:
    """Report credentials of `task` as unsupported; `why` is the remedy."""
    if task.has(FIELD):
        task.unsupported(FIELD, Feature.CREDENTIALS, why)


def with_role(data: Mapping[str, Json], language: Language) -> dict[str, Json]:
    """Return `data` of a Task with credentials as the IR stores it: role and arguments side by side in one field."""
    field = _ARGUMENTS[language]
    arguments = {"Parameters": data[field]} if field in data else _INPUT[language]
    rest = {name: value for name, value in data.items() if name != FIELD}
    return {**rest, field: {FIELD: data[FIELD], **arguments}}
