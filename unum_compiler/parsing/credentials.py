"""The role with which a Task calls a service: ``Credentials``.

The language leaves open what the field holds; Step Functions knows ``RoleArn`` alone. Source: AWS Step Functions
Developer Guide, "Accessing resources in other AWS accounts in Step Functions".
"""

from collections.abc import Mapping

from unum_compiler.parsing.object_reader import Part
from unum_compiler.problems import Feature, shown
from unum_runtime.asl.places import member
from unum_runtime.model.ir import Json, Language

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
    """Report credentials of `task`, which calls a service, that Step Functions does not know."""
    credentials = task.fields.get(FIELD)
    if not isinstance(credentials, dict):
        return  # there are none, or that is reported as a mistake in the language
    if [*credentials] not in ([name] for name in _ROLE[task.language]):
        allowed = " or ".join(f'"{name}"' for name in _ROLE[task.language])
        task.report.unsupported(task.at(FIELD), Feature.CREDENTIALS, f"write an object with {allowed} alone")
    elif not isinstance(role := credentials.get("RoleArn", ""), str):
        task.report.mistake(member(task.at(FIELD), "RoleArn"), f"expected the ARN of a role, got {shown(role)}")


def refuse_credentials(task: Part, why: str) -> None:
    """Report credentials of `task`, which cannot have any."""
    if task.has(FIELD):
        task.report.unsupported(task.at(FIELD), Feature.CREDENTIALS, why)


def with_role(data: Mapping[str, Json], language: Language) -> dict[str, Json]:
    """`data` of a Task that has credentials, as the IR has them: in the arguments, beside what is called with."""
    field = _ARGUMENTS[language]
    given = {"Parameters": data[field]} if field in data else _INPUT[language]
    rest = {name: value for name, value in data.items() if name != FIELD}
    return {**rest, field: {FIELD: data[FIELD], **given}}
