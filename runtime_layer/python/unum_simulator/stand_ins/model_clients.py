"""AWS clients whose responses are samples by botocore's models of the services' APIs."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

from botocore.exceptions import ClientError
from botocore.response import StreamingBody
from botocore.session import Session

from unum_runtime.asl.serialize import dumps
from unum_runtime.features.services.boto_clients import Clients, Keys
from unum_runtime.features.services.jobs import JOBS, Job
from unum_runtime.features.services.operation import parse
from unum_runtime.model.states import DATA_SET_TASKS, Pattern, Task
from unum_simulator.stand_ins.samples import Responses, sample
from unum_simulator.stand_ins.uses import Use

_REGION = "us-east-1"
_LOADER = Session().get_component("data_loader")
"""Loader that all sessions share: it keeps the models that it has read."""


class ModelClients(Clients):
    """Clients of AWS services that answer one Task at a time."""

    def __init__(self) -> None:
        session = Session()
        session.set_credentials("local", "local")
        session.register_component("data_loader", _LOADER)
        # The hook replaces the call after the runtime has checked the parameters, and before botocore looks for an
        # endpoint, which placeholders in names of buckets would prevent.
        session.register("creating-client-class", self._replace_call)
        super().__init__(session, {"region_name": _REGION})

    def answering(self, task: Task, use: Use, turn: int) -> "ModelClients":
        """Prepare for the calls of `task`, of whose result the definition makes `use`."""
        self._task, self._use, self._turn = task, use, turn
        return self

    def signing_with(self, keys: Keys) -> "ModelClients":  # noqa: ARG002 - no response depends on the caller
        """Return these clients."""
        return self

    def _replace_call(self, **event: Any) -> None:
        event["class_attributes"]["_make_api_call"] = lambda client, name, _parameters: self._respond(client, name)

    def _respond(self, client: Any, name: str) -> dict[str, Any]:
        """Return the response of operation `name`."""
        task, use, turn = self._task, self._use, self._turn
        model = client.meta.service_model.operation_model(name)
        job = _job(task)
        if job is not None and name == job.describe:
            if not job.succeeded:  # the job is a deletion
                raise ClientError({"Error": {"Code": job.gone, "Message": "deleted"}}, name)
            use, turn = _description(job, use), 0  # each job ends well, whatever its number
        if model.output_shape is None:
            return {}
        found = Responses(set(self._page_tokens(client, name)), turn).response(model.output_shape, use)
        if name == "Invoke":
            found = {"StatusCode": 200, "ExecutedVersion": "$LATEST"}
            found["Payload"] = dumps(sample(use.members.get("Payload", Use()), "result", turn)).encode()
        return {**found, **_streamed(model, found), "ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": {}}}

    def _page_tokens(self, client: Any, name: str) -> Iterator[str]:
        """Yield the fields that would announce a next page."""
        if client.can_paginate(_snake(client, name)):
            config = self.session.get_paginator_model(client.meta.service_model.service_name).get_paginator(name)
            tokens = config["output_token"]
            yield from [tokens] if isinstance(tokens, str) else tokens
            yield config.get("more_results", "")


def _snake(client: Any, name: str) -> str:
    methods: Mapping[str, str] = client.meta.method_to_api_mapping
    return next(method for method, operation in methods.items() if operation == name)


def _job(task: Task) -> Job | None:
    if task.pattern is not Pattern.SYNC or task.resource in DATA_SET_TASKS:
        return None
    return JOBS[parse(str(task.resource)).name]


def _description(job: Job, use: Use) -> Use:
    """Return the use of a successful job's description, of whose result the definition makes `use`."""
    found = Use()
    found.at(_steps(job.result)).add(use.members.get(job.wrapped, use) if job.wrapped else use)
    found.at(_steps(job.status)).constants[:] = job.succeeded[:1]
    return found


def _steps(path: str) -> tuple[str, ...]:
    return tuple("[]" if step.isdecimal() else step for step in path.split(".") if step)


def _streamed(model: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Return the field that botocore gives as a stream."""
    if not model.has_streaming_output:
        return {}
    name = model.output_shape.serialization["payload"]
    return {name: StreamingBody(BytesIO(found[name]), len(found[name]))}
