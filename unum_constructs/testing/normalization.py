"""Templates without values that change with every code change."""

import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

Json: TypeAlias = Any

HASH = "<hash>"
"""Replacement of an asset's hash."""

_ASSET = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_DEFINITION = re.compile(r"(?<=data:)[A-Za-z0-9+/=_-]{64,}")
"""Definition in the environment of the function in which executions start."""

_VERSION = re.compile(r"(?P<kept>.+?)[0-9a-f]{32}")
_METADATA = "AWS::CDK::Metadata"


class HasTemplate(Protocol):
    """Interface of `aws_cdk.assertions.Template`."""

    def to_json(self) -> Mapping[str, Any]: ...  # noqa: D102 - the CDK's


def template_json(template: HasTemplate | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `template` as JSON.

    Raises:
        TypeError: it is no template.
    """
    if isinstance(template, Mapping):
        return template
    if not hasattr(template, "to_json"):
        remedy = "make one of a stack by Template.from_stack"
        raise TypeError(f"expected an aws_cdk.assertions.Template, or a template as JSON, got {template!r}; {remedy}")
    return template.to_json()


def normalize_template(template: HasTemplate | Mapping[str, Any]) -> dict[str, Any]:
    """Normalize `template`: drop values that change with code alone, or with the CDK's version.

    Use it for snapshots: they change with resources, permissions, options and edges, but not with a function's code,
    the workflow's definition, or the runtime.

    * An asset's hash, 64 hexadecimal digits, becomes ``<hash>``.
    * So does a definition in a function's environment.
    * The logical id of a function's version loses its digest everywhere: ``SplitCurrentVersion4F9A…`` is another
      resource for other code, by design.
    * The resource ``AWS::CDK::Metadata``, the CDK's usage counter, is removed.

    Args:
        template: `aws_cdk.assertions.Template`, or a template as JSON; it stays unchanged.

    Returns:
        A template as JSON.

    Raises:
        TypeError: `template` is no template.
    """
    content = template_json(template)
    resources = {name: each for name, each in content.get("Resources", {}).items() if each.get("Type") != _METADATA}
    return dict(_Normalization(resources).apply({**content, "Resources": resources}))


class _Normalization:
    """Replacement of asset hashes and of logical ids of versions."""

    def __init__(self, resources: Mapping[str, Mapping[str, Any]]) -> None:
        names = (name for name, each in resources.items() if each.get("Type") == "AWS::Lambda::Version")
        self._versions = {name: match["kept"] for name in names if (match := _VERSION.fullmatch(name))}
        longest_first = sorted(self._versions, key=len, reverse=True)
        self._names = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def apply(self, value: Json) -> Json:
        match value:
            case str():
                return self._text(value)
            case Mapping():
                return {self._text(key): self.apply(item) for key, item in value.items()}
            case list():
                return [self.apply(item) for item in value]
        return value

    def _text(self, text: str) -> str:
        return self._names.sub(lambda found: self._versions[found[0]], _ASSET.sub(HASH, _DEFINITION.sub(HASH, text)))
