"""Targets of a Task's ``Resource``: workflow functions and services.

The ASL specification leaves the content open; Step Functions accepts ``RoleArn`` only. Source: AWS Step Functions
Developer Guide, "Accessing resources in other AWS accounts in Step Functions".

Source of the forms: AWS Step Functions Developer Guide, "Integrating services".
"""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from unum_compiler.parsing.jsonata_fields import is_expression
from unum_compiler.parsing.object_reader import Part
from unum_compiler.parsing.tokens import is_token
from unum_compiler.problems import Feature, Report, did_you_mean, shown
from unum_runtime.asl.places import member
from unum_runtime.features.signals.mailbox import KEY_RULE, is_key, is_signal_name
from unum_runtime.model.called_functions import CALLED, INVOKE
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import NAME_RULE
from unum_runtime.model.states import ACTIVITY, SIGNAL, Form, Json, Language, Pattern

UNPUBLISHED = "$LATEST"
"""Qualifier of a function's unpublished code."""

SERVICES = "$services"
"""Key of the service function, one for all Tasks of a workflow."""

_SUBSTITUTION = re.compile(r"\$\{(?P<name>[^${}]+)\}(?P<qualifier>:.*)?")
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# Partition, region and account may be substitutions or CDK tokens: the compiler ignores them.
_PART = r"(?:\$\{[^{}]*\}|[^:${}])*"
_LAMBDA = re.compile(
    rf"arn:{_PART}:lambda:{_PART}:{_PART}:function:"
    r"(?P<name>\$\{[^{}]*\}|[^:${}]+)(?P<qualifier>:.*)?"
)
# The specification allows any URI; Step Functions has no workers behind such URIs.
_ELSEWHERE = re.compile(rf"(?!arn:)[A-Za-z][A-Za-z0-9+.-]*:[^\s${{}}]+|arn:{_PART}:swf:{_PART}:{_PART}:task:.+")
_QUALIFIER = re.compile(r"(?::(?:\$LATEST|[A-Za-z0-9_-]{1,128}))?")
_STATES = re.compile(rf"arn:{_PART}:states:{_PART}:{_PART}:(?P<call>[^:]+:.+)")
_SUFFIXES: Mapping[str, Pattern] = {
    ".sync": Pattern.SYNC,
    ".sync:2": Pattern.SYNC,
    ".waitForTaskToken": Pattern.CALLBACK,
}

_FORMS = (
    'allowed are a function\'s key, "${key}", the ARN of a Lambda function, "arn:aws:states:::lambda:invoke", '
    '"arn:aws:states:::" and the action of a service, such as "dynamodb:putItem", or "unum:signal:" and a name'
)
# AWS Lambda API Reference, "Invoke": the options with their defaults. A function that hosts Tasks reports this version.
_OPTIONS = {"ClientContext": None, "InvocationType": "RequestResponse", "LogType": "None", "Qualifier": UNPUBLISHED}
# Names that `frontends.values` gives to values of the deployment. Other placeholders stay unknown.
_UNKNOWN = re.compile(r"\$\{(?!Value\d+\})")
_PAYLOAD = ("Payload", "Payload.$")
_NAMES = ("FunctionName", "FunctionName.$")

PREFIX = f"unum:{SIGNAL}"
"""Begin of the ``Resource``, before the name of the signal."""

_SIGNAL_KEY = "Key"


def activities(workflow: Workflow) -> tuple[str, ...]:
    """Return names of activities used by `workflow`."""
    resources = dict.fromkeys(task.resource or "" for task in workflow.tasks)
    return tuple(each.removeprefix(ACTIVITY) for each in resources if each.startswith(ACTIVITY))


class Call(NamedTuple):
    """The target of a Task.

    Attributes:
        function: key of the function; empty after a reported problem.
        form: kind of call.
        resource: action of a service, or ARN of an invoked function.
        pattern: event that ends the Task.
        called: key of the function that ``lambda:invoke`` calls with options; None without options.
    """

    function: str
    form: Form
    resource: str | None = None
    pattern: Pattern = Pattern.RESPONSE
    called: str | None = None


class Resources:
    """Resolver of a definition's resources.

    Args:
        functions: known keys; None accepts every name.
        report: collector of problems.
    """

    def __init__(self, functions: Collection[str] | None, report: Report) -> None:
        self._functions = functions
        self._report = report

    def resolve(self, task: Part) -> Call:
        """Return the target of `task`; report unusable resources."""
        resource = task.required("Resource", object)
        if "Resource" not in task.fields:
            return Call("", Form.DIRECT)
        if is_signal(resource):
            return Call(SERVICES, Form.SERVICE, read_signal(task), Pattern.CALLBACK)
        match = _STATES.fullmatch(resource) if isinstance(resource, str) else None
        if match is None:
            return self._direct(resource, task)
        call, pattern = _split(match["call"])
        if call.startswith(ACTIVITY):
            refuse_credentials(task, "remove it: nothing is called")
            return Call(SERVICES, Form.SERVICE, call, Pattern.CALLBACK)
        if call == INVOKE and pattern is not Pattern.SYNC:
            return self._invoked(task, pattern)
        return self._service(call, pattern, task)

    def _direct(self, resource: Json, task: Part) -> Call:
        has_role = task.has(FIELD)
        check_credentials(task)
        if self._is_elsewhere(resource, has_options=has_role):
            return Call(SERVICES, Form.SERVICE, resource)
        key = self._function(resource, task.at("Resource"))
        return Call(SERVICES, Form.SERVICE, CALLED + key) if has_role else Call(key, Form.DIRECT)

    def _is_elsewhere(self, resource: Json, *, has_options: bool) -> bool:
        """Return True for the ARN of a function outside the workflow; with unknown functions, only with options."""
        match = None if not isinstance(resource, str) or is_token(resource) else _LAMBDA.fullmatch(resource)
        if match is None or not _QUALIFIER.fullmatch(match["qualifier"] or ""):
            return False
        if not has_options and (self._functions is None or _UNKNOWN.search(resource)):
            return False
        return {resource, _function_key(resource)}.isdisjoint(self._functions or ())

    def _function(self, resource: Json, place: str, *, is_text: bool = False) -> str:
        """Return the key in `resource`; `is_text` accepts any text while no functions are known."""
        if not isinstance(resource, str):
            self._report_non_text(resource, place)
            return ""
        if is_token(resource):
            return ""  # `check_tokens` reports it
        name = resource if resource in (self._functions or ()) else _function_key(resource)
        if name is None and is_text and self._functions is None:
            name = resource
        if not name or name == SERVICES:
            self._report_unknown_resource(resource, place)
            return ""
        if self._functions is not None and name not in self._functions:
            remedy = f"pass it in `functions`, or name one that is there: {did_you_mean(name, self._functions)}"
            self._report.mistake(place, f"there is no function {shown(name)}; {remedy}")
        return name

    def _report_unknown_resource(self, resource: str, place: str) -> None:
        if _ELSEWHERE.fullmatch(resource):
            self._report.unsupported(place, f"{Feature.RESOURCE} {resource}", _FORMS)
        else:
            self._report.mistake(place, f"{shown(resource)} names no function; {_FORMS}")

    def _report_non_text(self, resource: Json, place: str) -> None:
        name = next(iter(resource), "") if isinstance(resource, dict) else ""
        if name == "Ref" or name.startswith("Fn::"):
            remedy = 'write "${Name}", and give its value with `substitutions` or the function with `functions`'
            self._report.unsupported(place, f"{Feature.TEMPLATE} {name}", remedy)
        else:
            self._report.mistake(place, f"expected the name of a function, got {shown(resource)}; {_FORMS}")

    def _invoked(self, task: Part, pattern: Pattern) -> Call:
        unresolved = Call("", Form.INVOKE, pattern=pattern)
        field = _parameters_field(task)
        value = task.fields.get(field)
        if is_expression(value):
            return self._service(INVOKE, pattern, task)  # the expression selects the function
        if not isinstance(value, dict) or value.keys().isdisjoint(_NAMES):
            task.mistake(field, f'{INVOKE} needs the field "FunctionName", which names a function')
            return unresolved
        parameters = Part(value, task.at(field), task.language, self._report)
        # A function outside the workflow, or one that the data select, is called like any other service.
        is_dynamic = "FunctionName.$" in value or is_expression(value["FunctionName"])
        has_options = task.has(FIELD) or _has_options(value)
        if is_dynamic or self._is_elsewhere(value["FunctionName"], has_options=has_options):
            return self._service(INVOKE, pattern, task)
        key = self._function(value["FunctionName"], parameters.at("FunctionName"), is_text=True)
        if has_options:
            return self._service(INVOKE, pattern, task)._replace(called=key)
        _check_names(parameters)
        return unresolved._replace(function=key)

    def _service(self, resource: str, pattern: Pattern, task: Part) -> Call:
        # Loads botocore's models, which takes half a second.
        from unum_compiler.services.service_tasks import (  # noqa: PLC0415 - slow to load
            check_parameters,
            check_spelling,
            refusal_reason,
        )

        check_credentials(task)
        reason = refusal_reason(resource, pattern)
        if fault := check_spelling(resource):
            task.mistake("Resource", fault)
        if reason is None:
            field = _parameters_field(task)
            if task.language is Language.JSONPATH:
                task.optional(field, dict)
            self._report.add(check_parameters(resource, pattern, task.fields.get(field), task.at(field)))
        else:
            task.unsupported("Resource", f"{Feature.SERVICE} {resource}", reason)
        return Call(SERVICES, Form.SERVICE, resource, pattern)


def _has_options(parameters: Mapping[str, Json]) -> bool:
    """Return True if `parameters` of ``lambda:invoke`` contain options for invoked functions only."""
    return any(
        name.removesuffix(".$") in _OPTIONS and value != _OPTIONS.get(name, ...) for name, value in parameters.items()
    )


def _check_names(parameters: Part) -> None:
    parameters.not_both(*_PAYLOAD)
    for name in parameters.fields.keys() - {*_NAMES, *_PAYLOAD, *_OPTIONS}:
        remedy = did_you_mean(name, ("FunctionName", *_PAYLOAD))
        parameters.mistake(name, f"{INVOKE} has no parameter {shown(name)}; {remedy}")


def _parameters_field(task: Part) -> str:
    return "Arguments" if task.language is Language.JSONATA else "Parameters"


def _split(call: str) -> tuple[str, Pattern]:
    """Return action and pattern of `call`."""
    for suffix, pattern in _SUFFIXES.items():
        if call.endswith(suffix):
            version = suffix.removeprefix(".sync") if pattern is Pattern.SYNC else ""
            return call.removesuffix(suffix) + version, pattern
    return call, Pattern.RESPONSE


def qualifier_of(resource: str) -> str | None:
    """Return the version or alias behind the key of a function; None without one, and for unpublished code."""
    for form in (_LAMBDA, _SUBSTITUTION):
        if (match := form.fullmatch(resource)) and match["qualifier"] and _QUALIFIER.fullmatch(match["qualifier"]):
            found = str(match["qualifier"]).removeprefix(":")
            return None if found == UNPUBLISHED else found
    return None


def _function_key(resource: str) -> str | None:
    """Return the function key in `resource`, if its form is known."""
    for form in (_LAMBDA, _SUBSTITUTION):
        if match := form.fullmatch(resource):
            if not _QUALIFIER.fullmatch(match["qualifier"] or ""):
                return None
            resource = match["name"]
    resource = resource.removesuffix(".Arn")
    return resource if _KEY.fullmatch(resource) else None


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


def is_signal(resource: Json) -> bool:
    """Return True if `resource` names a signal."""
    return isinstance(resource, str) and resource.startswith(PREFIX)


def read_signal(task: Part) -> str:
    """Return the IR's resource of `task`, which waits for a signal; report what such a Task cannot have."""
    name = task.fields["Resource"].removeprefix(PREFIX)
    if not is_signal_name(name):
        task.mistake("Resource", f'expected "{PREFIX}" and the name of a signal, {NAME_RULE}, got {shown(name)}')
    for field in ("HeartbeatSeconds", "HeartbeatSecondsPath", "Credentials"):
        if task.has(field):
            task.mistake(field, "a wait for a signal has no such field: nothing is called; remove it")
    field = "Arguments" if task.language is Language.JSONATA else "Parameters"
    if task.has(field):
        _check_key(task.fields[field], task, field)
    return f"{SIGNAL}{name}"


def _check_key(value: Json, task: Part, field: str) -> None:
    dynamic = f"{_SIGNAL_KEY}.$" if task.language is Language.JSONPATH else ""
    if not isinstance(value, dict) or len(value) != 1 or not value.keys() <= {_SIGNAL_KEY, dynamic}:
        known = f'"{_SIGNAL_KEY}" or "{dynamic}"' if dynamic else f'"{_SIGNAL_KEY}"'
        task.mistake(field, f"expected an object with {known} alone, the key of the signal, got {shown(value)}")
    elif (key := value.get(_SIGNAL_KEY)) is not None and not is_expression(key) and not is_key(key):
        task.mistake(field, f"{_SIGNAL_KEY}: expected {KEY_RULE}, got {shown(key)}")
