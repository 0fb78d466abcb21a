"""What a Task's ``Resource`` names: one of the workflow's functions, or something that is not supported."""

import re
from collections.abc import Collection, Mapping

from unum_constructs.compiler.payload import ROOT, is_composable
from unum_constructs.compiler.report import Feature, Report, did_you_mean, shown
from unum_constructs.compiler.tokens import is_token
from unum_runtime.asl.places import member
from unum_runtime.model.ir import Form, Json

_SUBSTITUTION = re.compile(r"\$\{(?P<name>[^${}]+)\}(?P<qualifier>:.*)?")
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# Partition, region and account may still be substitutions or CDK tokens; nothing depends on them.
_PART = r"(?:\$\{[^{}]*\}|[^:${}])*"
_LAMBDA = re.compile(
    rf"arn:{_PART}:lambda:{_PART}:{_PART}:function:"
    r"(?P<name>\$\{[^{}]*\}|[^:${}]+)(?P<qualifier>:.*)?"
)
_QUALIFIER = re.compile(r"(?::(?:\$LATEST|[A-Za-z0-9_-]{1,128}))?")
_STATES = re.compile(rf"arn:{_PART}:states:{_PART}:{_PART}:(?P<service>[^:]+):(?P<action>.+)")

_FORMS = 'allowed are a function\'s key, "${key}", the ARN of a Lambda function, or "arn:aws:states:::lambda:invoke"'
_AS_FUNCTION = "call the service in a Lambda function of the workflow"
_INVOKE_OPTIONS = frozenset(("ClientContext", "InvocationType", "LogType", "Qualifier"))
_PAYLOAD = ("Payload", "Payload.$")

UNKNOWN = ""
"""Stands for a function that could not be found out; a problem is reported then."""


class Resources:
    """Resolves resources to function keys.

    Args:
        functions: the known keys; None accepts every name.
        report: where problems go.
    """

    def __init__(self, functions: Collection[str] | None, report: Report) -> None:
        self._functions = functions
        self._report = report

    def resolve(self, resource: Json, task: Mapping[str, Json], place: str) -> tuple[str, Form]:
        """The function that the Task with fields `task` at `place` runs, and how it is called."""
        field = member(place, "Resource")
        match = _STATES.fullmatch(resource) if isinstance(resource, str) else None
        if match is None:
            return self._function(resource, field), Form.DIRECT
        if (match["service"], match["action"]) == ("lambda", "invoke"):
            return self._invoked(task, member(place, "Parameters")), Form.INVOKE
        self._refuse(match["service"], match["action"], field)
        return UNKNOWN, Form.INVOKE

    def _function(self, resource: Json, place: str) -> str:
        if not isinstance(resource, str):
            self._report.mistake(place, f"expected the name of a function, got {shown(resource)}; {_FORMS}")
            return UNKNOWN
        if is_token(resource):
            return UNKNOWN  # reported with all other tokens
        name = resource if resource in (self._functions or ()) else _named(resource)
        if name is None:
            self._report.mistake(place, f"{shown(resource)} names no function; {_FORMS}")
            return UNKNOWN
        if self._functions is not None and name not in self._functions:
            remedy = f"pass it in `functions`, or name one that is there: {did_you_mean(name, self._functions)}"
            self._report.mistake(place, f"there is no function {shown(name)}; {remedy}")
        return name

    def _invoked(self, task: Mapping[str, Json], place: str) -> str:
        parameters = task.get("Parameters")
        if parameters is None and "Arguments" in task:
            return UNKNOWN  # of JSONata, which is reported with the field
        if not isinstance(parameters, dict) or not {"FunctionName", "FunctionName.$"} & parameters.keys():
            self._report.mistake(place, 'lambda:invoke needs the field "FunctionName", which names a function')
            return UNKNOWN
        for name in parameters.keys() - {"FunctionName", "FunctionName.$", *_PAYLOAD}:
            self._option(name, member(place, name))
        if parameters.keys() >= set(_PAYLOAD):
            self._report.mistake(place, 'expected "Payload" or "Payload.$", got both; remove one')
        if "FunctionName.$" in parameters:
            remedy = (
                'permissions are fixed at deployment: write "FunctionName" with a key, and a Choice of several Tasks'
            )
            self._report.unsupported(member(place, "FunctionName.$"), Feature.DYNAMIC_FUNCTION, remedy)
            return UNKNOWN
        self._composition(task, parameters, place)
        return self._function(parameters["FunctionName"], member(place, "FunctionName"))

    def _composition(self, task: Mapping[str, Json], parameters: Mapping[str, Json], place: str) -> None:
        if not is_composable(task.get("InputPath", ROOT), parameters.get("Payload.$", ROOT)):
            message = f'"Payload.$" cannot select in what "InputPath" {shown(task["InputPath"])} selects; '
            self._report.mistake(member(place, "Payload.$"), f'{message}write one path in "Payload.$" alone')

    def _option(self, name: str, place: str) -> None:
        if name.removesuffix(".$") in _INVOKE_OPTIONS:
            self._report.unsupported(place, f"{Feature.INVOKE_OPTIONS}: {name}", "remove it")
            return
        known = ("FunctionName", *_PAYLOAD)
        self._report.mistake(place, f"lambda:invoke has no parameter {shown(name)}; {did_you_mean(name, known)}")

    def _refuse(self, service: str, action: str, place: str) -> None:
        if service == "activity":
            self._report.unsupported(place, Feature.ACTIVITY, "let a Lambda function do the work")
        elif action.endswith(".waitForTaskToken"):
            self._report.unsupported(place, Feature.CALLBACK, _AS_FUNCTION)
        elif action.endswith((".sync", ".sync:2")):
            self._report.unsupported(place, Feature.SYNC, _AS_FUNCTION)
        else:
            self._report.unsupported(place, f"{Feature.SERVICE} {service}:{action}", _AS_FUNCTION)


def _named(resource: str) -> str | None:
    """The function key in `resource`; None if it has no known form."""
    for form in (_LAMBDA, _SUBSTITUTION):
        if match := form.fullmatch(resource):
            if not _QUALIFIER.fullmatch(match["qualifier"] or ""):
                return None
            resource = match["name"]
    resource = resource.removesuffix(".Arn")
    return resource if _KEY.fullmatch(resource) else None
