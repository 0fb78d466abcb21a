"""Mapping templates of REST APIs, in the Velocity Template Language.

ministack renders a part of the language for queues, and invokes functions with the event of a proxy integration,
whatever the template is. Here templates are rendered by airspeed, for functions, for queues and for starts of state
machines. What does not work here fails when the method is deployed by a template.
https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html
"""

import base64
import contextvars
import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from ministack.core.responses import get_account_id, get_region, request_scope
from ministack.services import apigateway_v1, stepfunctions
from ministack.services.cloudformation import provisioners

from unum_emulator.patching import replace

_JSON = "application/json"
_STARTS = ("StartExecution", "StartSyncExecution")
_STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]|\[['\"]([^'\"]+)['\"]\]")
"""Step of a JSONPath: a name or an index."""

_event: contextvars.ContextVar[Any] = contextvars.ContextVar("event")
"""Event of a function behind an integration that is no proxy, in place of a proxy's."""


def install() -> None:
    """Render mapping templates, and refuse methods that do not work here."""
    _refuse_methods()
    build = replace(apigateway_v1, "_build_lambda_event_v1", None)
    invoke = replace(apigateway_v1, "_invoke_lambda_custom_v1", None)

    def build_event(*arguments: Any, **options: Any) -> Any:
        try:
            return _event.get()
        except LookupError:
            return build(*arguments, **options)

    async def invoke_custom(integration: Mapping[str, Any], *request: Any, **options: Any) -> Any:
        asked = _Request(*request, **options)
        spec = apigateway_v1._parse_service_integration_uri(integration.get("uri", ""))
        if spec and spec[1] == "states" and spec[3] in _STARTS:
            return _start(integration, spec[3], asked)
        text = asked.mapped(integration)
        before = _event.set(json.loads(text) if text.strip() else {})
        try:
            return await invoke(integration, *request, **options)
        finally:
            _event.reset(before)

    def render_request(template: str, body: str, params: Mapping[str, str], context: Any = None) -> str:
        return rendered(template, body, {"querystring": params}, context or {}, {})

    replace(apigateway_v1, "_build_lambda_event_v1", build_event)
    replace(apigateway_v1, "_invoke_lambda_custom_v1", invoke_custom)
    replace(apigateway_v1, "_render_request_template_v1", render_request)


class _Request:
    """A request to a method.

    Attributes:
        headers: its headers.
        body: its body as text.
        params: parameters by their place: path, query string and header.
        context: the variable ``$context``.
        variables: the stage's variables.
        scope: account and region of the API.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - ministack's arguments
        self,
        api: str,
        stage_name: str,
        stage: Mapping[str, Any],
        resource: Mapping[str, Any],
        path: str,
        method: str,
        headers: Mapping[str, str],
        body: bytes,
        query: Mapping[str, Any] | None,
        path_params: Mapping[str, str] | None,
        **options: Any,
    ) -> None:
        self.headers, self.body = headers, (body or b"").decode(errors="replace")
        first = {name: each[0] if isinstance(each, list | tuple) else each for name, each in (query or {}).items()}
        self.params = {"path": {**(path_params or {})}, "querystring": first, "header": {**(headers or {})}}
        self.variables = {**((stage or {}).get("variables") or {})}
        self.scope = (options.get("owner_account_id") or get_account_id(), options.get("owner_region") or get_region())
        self.context = {
            "apiId": api,
            "authorizer": options.get("authorizer_context") or {},
            "httpMethod": method,
            "path": f"/{stage_name}{path}",
            "requestId": str(headers.get("x-amzn-requestid", "")),
            "resourcePath": (resource or {}).get("path", path),
            "stage": stage_name,
            "identity": {"sourceIp": "127.0.0.1", "userAgent": headers.get("user-agent", "")},
        }

    def mapped(self, integration: Mapping[str, Any]) -> str:
        """Return what the integration's template for this content type makes of the request; without one, the body."""
        kind = next((each for name, each in self.headers.items() if name.lower() == "content-type"), _JSON)
        templates = {_media_type(name): each for name, each in (integration.get("requestTemplates") or {}).items()}
        template = templates.get(_media_type(kind))
        if template is None:
            return self.body
        return rendered(template, self.body, self.params, self.context, self.variables)


def _media_type(text: str) -> str:
    return text.split(";", 1)[0].strip().lower()


def _start(integration: Mapping[str, Any], action: str, asked: _Request) -> Any:
    """Start an execution of a state machine, and map the answer."""
    with request_scope(*asked.scope):
        start = stepfunctions._start_execution if action == "StartExecution" else stepfunctions._start_sync_execution
        status, _, answer = start(json.loads(asked.mapped(integration)))
    text = answer.decode() if isinstance(answer, bytes) else str(answer)
    flat = {name: each for place in reversed(asked.params.values()) for name, each in place.items()}
    return apigateway_v1._service_integration_response(integration, status, text, _JSON, flat, asked.context)


def rendered(
    template: str,
    body: str,
    params: Mapping[str, Mapping[str, str]],
    context: Mapping[str, Any],
    variables: Mapping[str, str],
) -> str:
    """Return the text that `template` makes of a body and parameters by their place.

    Raises:
        ValueError: the template is wrong, or uses what does not exist.
    """
    airspeed = _airspeed()
    names = {"input": _Input(body, params), "util": _Util(), "context": context, "stageVariables": variables}
    try:
        text: str = airspeed.Template(template).merge(names)
    except (airspeed.TemplateError, AttributeError, TypeError) as error:
        raise ValueError(f"mapping template: {error}") from error
    return text


def _airspeed() -> Any:
    """Return the engine, with the methods of Java's classes that templates call."""
    import airspeed  # noqa: PLC0415 - few apps have templates

    methods = airspeed.__additional_methods__
    methods[str].update(
        {
            "equals": lambda text, other: text == other,
            "equalsIgnoreCase": lambda text, other: text.lower() == str(other).lower(),
            "indexOf": lambda text, part: text.find(part),
            "isEmpty": lambda text: not text,
            "substring": lambda text, start, end=None: text[int(start) : None if end is None else int(end)],
            "toLowerCase": lambda text: text.lower(),
            "toString": lambda text: text,
            "toUpperCase": lambda text: text.upper(),
            "trim": lambda text: text.strip(),
        }
    )
    methods[list].update({"isEmpty": lambda values: not values})
    methods[dict].update(
        {
            "containsKey": lambda values, key: key in values,
            "entrySet": lambda values: [{"key": key, "value": each} for key, each in values.items()],
            "size": len,
        }
    )
    return airspeed


class _Input:
    """The variable ``$input``.

    Attributes:
        body: the body as text.
    """

    def __init__(self, body: str, params: Mapping[str, Mapping[str, str]]) -> None:
        self.body, self._params = body, params

    def json(self, path: str) -> str:
        """Return the value at `path` in the body as JSON."""
        return json.dumps(self.path(path), separators=(",", ":"), ensure_ascii=False)

    def path(self, path: str) -> Any:
        """Return the value at `path` in the body."""
        value = json.loads(self.body) if self.body.strip() else {}
        for step in _steps(path):
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step, "")
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return ""
        return value

    def params(self, name: str | None = None) -> Any:
        """Return the parameter `name` of path, query string or header; all of them by place without a name."""
        if name is None:
            return {place: {**self._params.get(place, {})} for place in ("path", "querystring", "header")}
        if name in ("path", "querystring", "header"):
            return {**self._params.get(name, {})}
        found = (self._params.get(place, {}) for place in ("path", "querystring", "header"))
        return next((given[name] for given in found if name in given), "")


def _steps(path: str) -> Iterator[str | int]:
    """Yield names and indexes of a JSONPath.

    Raises:
        ValueError: the path has something else.
    """
    if not path.startswith("$") or _STEP.sub("", path) != "$":
        raise ValueError(f"$input: the emulator knows names and indexes in paths, got {path!r}")
    for dotted, index, quoted in _STEP.findall(path):
        yield int(index) if index else dotted or quoted


_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "'": "\\'", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
)


class _Util:
    """The variable ``$util``; methods have AWS's names."""

    def escapeJavaScript(self, text: Any) -> str:  # noqa: N802 - AWS's name
        """Return `text` for a literal of JavaScript."""
        return str(text).translate(_ESCAPES)

    def parseJson(self, text: str) -> Any:  # noqa: N802 - AWS's name
        """Return the value of JSON."""
        return json.loads(text)

    def urlEncode(self, text: Any) -> str:  # noqa: N802 - AWS's name
        """Return `text` for a form."""
        return urllib.parse.quote_plus(str(text), safe="*").replace("~", "%7E")

    def urlDecode(self, text: Any) -> str:  # noqa: N802 - AWS's name
        """Return the text in a form."""
        return urllib.parse.unquote_plus(str(text))

    def base64Encode(self, text: Any) -> str:  # noqa: N802 - AWS's name
        """Return `text` in base64."""
        return base64.b64encode(str(text).encode()).decode()

    def base64Decode(self, text: Any) -> str:  # noqa: N802 - AWS's name
        """Return the text in base64."""
        return base64.b64decode(str(text)).decode(errors="replace")


_METHODS = re.compile(r"\$!?\{?util\.(\w+)")


def _refuse_methods() -> None:
    """Let stacks with methods that do not work here fail."""
    handlers = provisioners._RESOURCE_HANDLERS["AWS::ApiGateway::Method"]
    create, update = handlers["create"], handlers.get("update")

    def create_method(logical_id: str, props: Mapping[str, Any], stack_name: str) -> Any:
        _check(props.get("Integration") or {})
        return create(logical_id, props, stack_name)

    def update_method(physical_id: str, old: Mapping[str, Any], new: Mapping[str, Any], *others: str) -> Any:
        _check(new.get("Integration") or {})
        return update(physical_id, old, new, *others)

    handlers["create"] = create_method
    if update is not None:
        handlers["update"] = update_method


def _check(integration: Mapping[str, Any]) -> None:
    """Raise ValueError if an integration uses what does not exist here."""
    if integration.get("Type") != "AWS":
        return
    if spec := apigateway_v1._parse_service_integration_uri(integration.get("Uri", "")):
        _, service, verb, rest = spec
        works = (
            service == "lambda" or (service == "sqs" and verb == "path") or (service == "states" and rest in _STARTS)
        )
        if not works:
            known = "functions, queues by their path, and states:action/StartExecution"
            raise ValueError(f"Integration: REST APIs of the emulator reach {known}, got {service}:{verb}/{rest}")
    for template in (integration.get("RequestTemplates") or {}).values():
        if unknown := [name for name in _METHODS.findall(str(template)) if not hasattr(_Util, name)]:
            raise ValueError(f"Integration: mapping templates of the emulator have no $util.{unknown[0]}")
        airspeed = _airspeed()
        try:
            airspeed.Template(str(template)).ensure_compiled()
        except airspeed.TemplateError as error:
            raise ValueError(f"Integration: mapping template: {error}") from error
