"""botocore's models of the services' APIs, loaded from its data files without network access."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import OperationModel, OperationNotFoundError, ServiceModel

from unum_compiler.problems import did_you_mean, shown
from unum_runtime.features.services.operation import parse
from unum_runtime.features.services.spelling import fold_name, sdk_names, sdk_service

_KIND = "service-2"


class NoSuchOperation(Exception):
    """An unknown service or operation.

    Attributes:
        remedy: sentence with the unknown name and its alternatives.
    """

    def __init__(self, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(remedy)


@cache
def operation(resource: str) -> OperationModel:
    """Return the model of the operation that `resource` calls.

    Raises:
        NoSuchOperation: the operation is unknown.
    """
    called = parse(resource)
    model = service_model(called.service)
    try:
        return model.operation_model(called.operation)
    except OperationNotFoundError:
        action = called.operation[:1].lower() + called.operation[1:]
        remedy = did_you_mean(action, [name[:1].lower() + name[1:] for name in model.operation_names])
        raise NoSuchOperation(f"{resource}: the service has no action {shown(action)}; {remedy}") from None


@cache
def service_model(service: str) -> ServiceModel:
    """Return the API model of `service`, spelled with or without hyphens.

    Raises:
        NoSuchOperation: the service is unknown.
    """
    name = _services().get(fold_name(service))
    if name is None:
        remedy = did_you_mean(service, sdk_names(_services().values()))
        raise NoSuchOperation(f"there is no service {shown(service)} in aws-sdk; {remedy}")
    return ServiceModel(_LOADER.load_service_model(name, _KIND), name)


def sdk_spellings(model: ServiceModel) -> tuple[str, ...]:
    """Return ``aws-sdk:`` names of a service; botocore lists some services twice."""
    return tuple(dict.fromkeys((sdk_service(model.service_id), *sdk_names([model.service_name]))))


@cache
def _services() -> Mapping[str, str]:
    """Return botocore's name of each service, by the name without hyphens."""
    return {fold_name(name): name for name in _LOADER.list_available_services(_KIND)}


_LOADER: Any = Loader()  # reads the data files that botocore brings along, without session or credentials
