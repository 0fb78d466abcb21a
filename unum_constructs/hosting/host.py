"""A Lambda function as the host of workflow nodes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IDependable
from jsii.errors import JSIIError

from unum_constructs.cdk.lookup import is_token, package_type_of, path_of, resource_of, stack_of, version_of
from unum_constructs.cdk.nag import FAILURES_HANDLED, acknowledge
from unum_constructs.errors import ConstructError
from unum_constructs.hosting import environment
from unum_constructs.hosting.version_ids import retain_with, version_arn, version_output
from unum_constructs.layer.workflow_layer import WorkflowLayer, WorkflowLayers

_TOKEN = "x" * environment.MOST_ARN_BYTES
"""As long as what stands for a token may be."""

IMAGE = "Image"
"""The package type of container images."""

HANDLER = "unum_runtime.handler.handle"
"""What Lambda calls in a function that hosts nodes."""


class FailureDestination(Protocol):
    """Where Lambda sends failed events: `unum_constructs.resources.failure_handler.FailureHandler`."""

    @property
    def function(self) -> lambda_.Function:
        """The function that gets them."""

    @property
    def version_arn(self) -> str:
        """A token of the qualified ARN of its version."""

    def hand_on(self, workflow_name: str, other: "FailureDestination") -> None:
        """Have `other` do what is for another workflow."""


@dataclass(frozen=True, kw_only=True)
class Failures:
    """What becomes of events that a function could not work on.

    Attributes:
        handler: where Lambda sends them in the end.
        max_event_age_s: how long Lambda tries, in seconds; None for 6 hours.
        retry_attempts: how often it tries again after an error; None for twice.
    """

    handler: FailureDestination
    max_event_age_s: int | None
    retry_attempts: int | None

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """Age and attempts."""
        return self.max_event_age_s, self.retry_attempts

    def configure(self, qualified: lambda_.Version | lambda_.Alias, qualifier: str) -> lambda_.CfnEventInvokeConfig:
        """Have Lambda treat the failed events of a version or alias so."""
        return self.configure_named(qualified, function_name=qualified.lambda_.function_name, qualifier=qualifier)

    def configure_named(self, scope: Construct, *, function_name: str, qualifier: str) -> lambda_.CfnEventInvokeConfig:
        """The same, for a version or alias that is known by its names."""
        return async_configuration(
            scope,
            function_name=function_name,
            qualifier=qualifier,
            destination=self.handler.version_arn,
            max_event_age_s=self.max_event_age_s,
            retry_attempts=self.retry_attempts,
        )


class Host(Construct):
    """Beneath a function: what workflows have made of it. It is one for each function, however many its workflows.

    Attributes:
        function: the function.
        version: its version in this deployment; retained, for running executions stay on it.
        version_arn: a token of the version's qualified ARN.
        references: functions whose versions its environment names.
        failures: what becomes of its failed events; None before the first workflow says it.
    """

    ID = "Unum"

    def __init__(self, function: lambda_.Function, *, handler: str | None) -> None:
        """Make `function` a host.

        Args:
            function: checked by `unum_constructs.assembly.wrapping`.
            handler: the user's handler; None where there is no user code.
        """
        super().__init__(function, self.ID)
        self.function = function
        self.version = version_of(function)
        self.version_arn = version_arn(self.version)
        self.references: set[Host] = set()
        self.failures: Failures | None = None
        self._services: dict[str, Mapping[str, Any]] = {}
        self._variables: dict[str, str] = {}
        self._redirect()
        if handler is not None:
            self._set(environment.HANDLER, handler)
            acknowledge(function, FAILURES_HANDLED)

    @property
    def resource(self) -> lambda_.CfnFunction:
        """The function's resource."""
        return resource_of(self.function, lambda_.CfnFunction)

    @property
    def takes_layers(self) -> bool:
        """Whether it is no container image, which has to have the runtime in it."""
        return package_type_of(self.function) != IMAGE

    @property
    def environment_key(self) -> str | None:
        """ARN of the user's key that its environment is encrypted with, if there is one."""
        return self.resource.kms_key_arn

    @property
    def stack(self) -> str:
        """Path of the stack that it is in."""
        return path_of(stack_of(self.function))

    def version_arn_in(self, stack: Stack) -> str:
        """A token of the version's qualified ARN, for functions of `stack`."""
        return self.version_arn if path_of(stack) == self.stack else version_output(self.version, stack)

    def _redirect(self) -> None:
        """Have Lambda call the runtime."""
        if self.takes_layers:
            self.resource.handler = HANDLER
        else:
            self.resource.add_property_override("ImageConfig.Command", [HANDLER])

    def reaches(self, other: "Host") -> bool:
        """Whether this function's environment refers to the version of `other`, directly or by way of others."""
        seen: set[Host] = set()
        ahead = {self}
        while ahead:
            seen |= ahead
            ahead = {target for host in ahead for target in host.references} - seen
        return other in seen

    def serve(self, workflow: str, layers: WorkflowLayers, service: Mapping[str, Any]) -> None:
        """Take part in a workflow.

        Args:
            workflow: its name.
            layers: its layers, of this function's stack.
            service: what `unum_runtime.functions.task_function.Service` says.

        Raises:
            ConstructError: Lambda would refuse an environment with that many routes, or another layer.
        """
        self._services[workflow] = service
        self._check_environment()
        self._set(environment.WORKFLOWS, stack_of(self.function).to_json_string(self._services))
        layer = self._take_one(layers) if self.takes_layers else layers.first
        # A layer keeps its logical id when its content changes, so the CDK would see the same function.
        self.function.invalidate_version_based_on(layer.digest)

    def serves(self, workflow: str) -> bool:
        """Whether it takes part in a workflow of that name already."""
        return workflow in self._services

    def _take_one(self, layers: WorkflowLayers) -> WorkflowLayer:
        # The CDK counts them. To ask for them before would fix their list, in older versions of the CDK.
        try:
            return layers.give(self.function)
        except (JSIIError, RuntimeError) as error:
            raise ConstructError(
                self.function, f"Lambda allows 5 layers, and each workflow needs one: merge some of them ({error})"
            ) from error

    def _set(self, variable: str, value: str) -> None:
        self._variables[variable] = value
        self.function.add_environment(variable, value)

    def _check_environment(self) -> None:
        """Stop if what we put into the environment does not fit, with ARNs and names as long as they may be."""
        deployed = {name: _as_deployed(service) for name, service in self._services.items()}
        size = environment.least_bytes({**self._variables, environment.WORKFLOWS: _compact(deployed)})
        if size > environment.MOST_BYTES:
            raise ConstructError(
                self.function,
                f"routes: expected an environment of at most {environment.MOST_BYTES} bytes, got {size} for "
                f"{sum(len(service['routes']) for service in self._services.values())} functions that may follow this "
                "one; let one function host several of them, or put a function between",
            )

    @property
    def variables(self) -> Mapping[str, str]:
        """What workflows have put into the environment; with tokens."""
        return self._variables

    def changes_of_environment(self, variables: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
        """What the user has done to the environment that it cannot be deployed or would not work with.

        Args:
            variables: the environment, resolved.
            own: `variables` of this, resolved.
        """
        yield from environment.overwritten(variables, own)
        least_own = {**self._variables, environment.WORKFLOWS: _compact(self._least_services())}
        size, least = environment.least_bytes({**variables, **least_own}), environment.least_bytes(least_own)
        if size > environment.MOST_BYTES:
            yield (
                f"its environment has at least {size} bytes, {least} of which are the workflow's; Lambda allows "
                f"{environment.MOST_BYTES}, as JSON: keep large values elsewhere, such as in Parameter Store"
            )

    def _least_services(self) -> Any:
        """What workflows say, with ARNs as short as they may be."""
        return {
            name: {**service, "routes": {key: _least_arn(arn) for key, arn in service["routes"].items()}}
            for name, service in self._services.items()
        }

    def allow_recursion(self) -> None:
        """Have Lambda accept that the function is invoked again as a consequence of its own invocation.

        Raises:
            ConstructError: the user wants the opposite.
        """
        if self.resource.recursive_loop == "Terminate":
            raise ConstructError(
                self.function,
                "expected recursive_loop=ALLOW, got TERMINATE: a loop or a retry of the workflow leads back to this "
                "function, which Lambda would break off; remove the argument",
            )
        self.resource.recursive_loop = "Allow"

    def claim_failures(self, failures: Failures) -> Failures:
        """What becomes of its failed events: `failures`, if they are the first that are wanted, else those.

        Raises:
            ConstructError: another workflow wants other limits, or is in another stack.
        """
        if self.failures is None:
            self.failures = failures
        if self.failures is failures:
            return failures
        first, other = (path_of(stack_of(each.handler.function)) for each in (self.failures, failures))
        if first != other:
            raise ConstructError(
                self.function,
                f"takes part in a workflow of the stack {first!r}, expected no other than those of it, got one of "
                f"{other!r}; have both workflows in one stack, or two functions",
            )
        if self.failures.limits != failures.limits:
            raise ConstructError(
                self.function,
                f"expected max_event_age and retry_attempts as in its first workflow, {self.failures.limits}, "
                f"got {failures.limits}: a function has one of each; give both workflows the same, or two functions",
            )
        return self.failures

    def send_failures(self, failures: Failures, *, after: IDependable) -> None:
        """Have Lambda send failed events of the version to the handler of failures.

        The configuration hangs on the version, and is retained with it; a new version has one of its own.

        Args:
            failures: where to, and when.
            after: what allows it; Lambda refuses a destination that the function's role may not send to.
        """
        configuration = failures.configure_named(
            self.version, function_name=self.function.function_name, qualifier=self.version.version
        )
        configuration.node.add_dependency(after)
        retain_with(self.version, configuration, suffix="OnFailure")


def async_configuration(
    scope: Construct,
    *,
    function_name: str,
    qualifier: str,
    destination: str,
    max_event_age_s: int | None = None,
    retry_attempts: int | None = None,
) -> lambda_.CfnEventInvokeConfig:
    """How Lambda treats asynchronous events that a version or alias could not work on, as a construct in `scope`."""
    on_failure = lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=destination)
    return lambda_.CfnEventInvokeConfig(
        scope,
        "EventInvokeConfig",
        function_name=function_name,
        qualifier=qualifier,
        destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(on_failure=on_failure),
        maximum_event_age_in_seconds=max_event_age_s,
        maximum_retry_attempts=retry_attempts,
    )


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _least_arn(arn: str) -> str:
    return "x" * environment.LEAST_ARN_BYTES if is_token(arn) else arn


def _as_deployed(value: Any) -> Any:
    """`value` with texts in place of tokens."""
    match value:
        case Mapping():
            return {key: _as_deployed(item) for key, item in value.items()}
        case str() if is_token(value):
            return _TOKEN
    return value
