"""botocore's models of the services' APIs, as far as the compiler asks for them; nothing goes over the network."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import OperationModel, OperationNotFoundError, ServiceModel

from unum_compiler.problems import did_you_mean, shown
from unum_runtime.aws.services.operation import parse
from unum_runtime.aws.services.spelling import fold_name, sdk_names, sdk_service

_KIND = "service-2"


class NoSuchOperation(Exception):
    """No service, or no operation, has that name.

    Attributes:
        remedy: one sentence that says what is missing and what there is.
    """

    def __init__(self, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(remedy)


@cache
def operation(resource: str) -> OperationModel:
    """The model of the operation that `resource` calls.

    Raises:
        NoSuchOperation: there is none.
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
    """The model of `service`, which may be spelled without hyphens.

    Raises:
        NoSuchOperation: there is no such service.
    """
    name = _services().get(fold_name(service))
    if name is None:
        remedy = did_you_mean(service, sdk_names(_services().values()))
        raise NoSuchOperation(f"there is no service {shown(service)} in aws-sdk; {remedy}")
    return ServiceModel(_LOADER.load_service_model(name, _KIND), name)


def sdk_spellings(model: ServiceModel) -> tuple[str, ...]:
    """What ``aws-sdk:`` calls the service of `model`: one name, but for a service that botocore has twice."""
    return tuple(dict.fromkeys((sdk_service(model.service_id), *sdk_names([model.service_name]))))


@cache
def _services() -> Mapping[str, str]:
    """Botocore's name of each service, by its name without hyphens."""
    return {fold_name(name): name for name in _LOADER.list_available_services(_KIND)}


_LOADER: Any = Loader()
