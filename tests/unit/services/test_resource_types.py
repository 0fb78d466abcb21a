"""The table of resource types fits the services' models."""

import re

import pytest
from botocore.model import ServiceModel

from unum_compiler.services.service_arns import PREFIXES, resource_table
from unum_compiler.services.service_permissions import _services, service_model
from unum_runtime.features.services.spelling import fold_name

PARAMETER = re.compile(r"(?<!\$)\{(\w+)\}")


def models_by_prefix() -> dict[str, list[ServiceModel]]:
    found: dict[str, list[ServiceModel]] = {}
    for name in _services().values():
        model = service_model(name)
        found.setdefault(PREFIXES.get(name, str(model.signing_name)), []).append(model)
    return found


@pytest.mark.slow("it reads the model of each service that has resources")
def test_each_operation_has_the_parameters_of_its_resource() -> None:
    models = models_by_prefix()
    for prefix, rows in resource_table().items():
        for templates, operations in rows.items():
            for operation in operations.split():
                shapes = [
                    each.operation_model(operation).input_shape
                    for each in models[prefix]
                    if operation in each.operation_names
                ]
                members = {fold_name(name) for shape in shapes if shape for name in shape.members}
                assert {*PARAMETER.findall(templates)} <= members, f"{prefix}:{operation}"


def test_each_operation_has_one_row() -> None:
    for prefix, rows in resource_table().items():
        operations = [each for names in rows.values() for each in names.split()]
        assert len(operations) == len({*operations}), prefix


def test_whole_arns_are_parameters_that_take_them() -> None:
    for prefix, rows in resource_table().items():
        for template in (each for templates in rows for each in templates.split()):
            names = PARAMETER.findall(template)
            is_whole = len(names) == 1 and names[0].endswith("arn")
            assert template == f"{{{names[0]}}}" if is_whole else not any(each.endswith("arn") for each in names), (
                prefix
            )
