"""Resource types of IAM actions: the ARNs that follow from the parameters of an operation.

``resource_types.json`` has, for each IAM prefix, templates of ARNs and the operations on such resources. A template is
what follows the account in the ARN, or a whole ARN; names in braces are folded names of parameters. An operation on
several resources has a template for each. Only operations are in the table whose every resource is named by their
parameters: a statement without one of the resources would allow nothing.

Source: AWS Service Authorization Reference, the tables of actions and resource types of each service, joined with the
parameters in the services' models.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from unum_runtime.json_text import parse_json


def resource_templates(prefix: str, operation: str) -> tuple[str, ...]:
    """Return the templates of the ARNs on which `operation` needs permission; none if the table has no row."""
    return _templates(prefix).get(operation, ())


@cache
def resource_table() -> Mapping[str, Mapping[str, str]]:
    """Return the operations in the table, separated by spaces, by IAM prefix and templates."""
    text = files(__package__).joinpath("resource_types.json").read_text("utf-8")
    found: Mapping[str, Mapping[str, str]] = parse_json(text)
    return found


@cache
def _templates(prefix: str) -> Mapping[str, tuple[str, ...]]:
    rows = resource_table().get(prefix, {})
    return {each: tuple(templates.split()) for templates, operations in rows.items() for each in operations.split()}
