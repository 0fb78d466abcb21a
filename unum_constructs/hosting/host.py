"""Lambda functions as hosts of workflow nodes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IDependable
from jsii.errors import JSIIError

from unum_constructs.cdk.lookup import (
    given_properties_of,
    is_token,
    name_of,
    package_type_of,
    path_of,
    properties_of,
    remember,
    resource_of,
    role_of,
    stack_of,
    version_of,
)
from unum_constructs.cdk.nag import FAILURES_HANDLED, acknowledge
from unum_constructs.errors import ConstructError
from unum_constructs.hosting import environment
from unum_constructs.hosting.version_ids import retain_with, version_arn, version_output
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_runtime.functions.configuration import TRACES
from unum_runtime.json_text import to_ascii
from unum_runtime.model.naming import response_alias, run_alias, start_alias

IMAGE = "Image"
"""Package type of container images."""

_ACTIVE = "Active"
"""Mode of X-Ray tracing. Source: AWS CloudFormation User Guide, "AWS::Lambda::Function TracingConfig"."""

ASYNC_CONFIGURATION = "EventInvokeConfig"
"""Id of the asynchronous configuration below its version or alias, as the CDK names it."""

OWN_CONFIGURATION = (
    "its current version has an asynchronous configuration, but failed events must reach the workflow's queue; remove "
    "`configure_async_invoke` from the version, and `max_event_age`, `on_failure`, `on_success` and `retry_attempts` "
    "from `current_version_options`; the workflow's `delivery` has `max_event_age` and `retry_attempts`"
)
"""Problem of a function whose version has such a configuration."""

HANDLER = "unum_runtime.handler.handle"
"""Handler of functions that host nodes."""


class FailureDestination(Protocol):
    """On-failure destination: `unum_constructs.resources.failure_handling.FailureHandler`."""

    @property
    def function(self) -> lambda_.Function:
        """Function that receives failed events."""

    @property
    def version_arn(self) -> str:
        """Token of the qualified ARN of its version."""

    def addresses(self, *, reports_starts: bool) -> Sequence[str]:
        """Return the ARNs of a workflow's aliases; see `unum_constructs.resources.permissions.Intake`."""

    def forward_failures(self, workflow_name: str, other: "FailureDestination") -> None:
        """Forward failures of another workflow to `other`."""

    def address_for(self, other: Construct) -> str:
        """Return the ARN at which `other`, another such destination, reaches this one."""


class DeliveryLimits(NamedTuple):
    """Limits of Lambda's retries of one event.

    Attributes:
        max_event_age_s: longest time in seconds; None for Lambda's default of 6 hours.
        retry_attempts: retries after an error; None for Lambda's default of 2.
    """

    max_event_age_s: int | None = None
    retry_attempts: int | None = None


LAMBDA_LIMITS = DeliveryLimits()
"""Lambda's own limits. Source: AWS Lambda Developer Guide, "How Lambda handles errors and retries with asynchronous
invocation"."""


@dataclass(frozen=True, kw_only=True)
class Failures:
    """On-failure destination of a function, with retry limits.

    Attributes:
        handler: on-failure destination.
        limits: retries before that.
    """

    handler: FailureDestination
    limits: DeliveryLimits

    def configure(
        self, scope: Construct, *, function_name: str, qualifier: str, destination: str | None = None
    ) -> lambda_.CfnEventInvokeConfig:
        """Configure asynchronous invocation of one version or alias, with the handler's version as destination."""
        return async_configuration(
            scope,
            function_name=function_name,
            qualifier=qualifier,
            destination=destination or self.handler.version_arn,
            limits=self.limits,
        )


@dataclass
class Managed:
    """Managed policy of a function's role, with its number of workflows."""

    policy: iam.ManagedPolicy
    workflows: int = 0


class Caller(NamedTuple):
    """Caller with permission to invoke all versions of a function.

    Attributes:
        policy: policy with that permission.
        role: role of the policy, as the construct that made it.
        arn: ARN of the function, as known in the policy's stack.
    """

    policy: iam.Policy
    role: iam.IRole
    arn: str


class Host(Construct):
    """Shared state of one function's workflows, as a child construct of the function.

    Attributes:
        function: the function.
        version: version of this deployment; retained, because running executions stay on it.
        version_arn: token of the version's qualified ARN.
        references: functions whose versions the environment names.
        failures: destination of failed events; None before the first workflow sets it.
        handlers: the user's handlers by key; empty for a function with one or none.
        traces: kinds of traces of user code.
        managed: managed policies of its role by stack path.
    """

    ID = "Unum"

    def __init__(
        self, function: lambda_.Function, *, handler: str | None, handlers: Mapping[str, str] | None = None
    ) -> None:
        """Make `function` a host.

        Args:
            function: function that passed the checks of `unum_constructs.assembly.wrapping`.
            handler: the user's handler; None without user code.
            handlers: the user's handlers by key, in place of `handler`.
        """
        super().__init__(function, self.ID)
        self.function = function
        self.version = version_of(function)
        remember(stack_of, self.version, stack_of(function))
        self.version_arn = version_arn(self.version)
        self.references: set[Host] = set()
        self.failures: Failures | None = None
        self._services: dict[str, Mapping[str, Any]] = {}
        self._variables: dict[str, str] = {}
        self._callers: list[Caller] = []
        self._starting: list[str] = []
        self.traces: dict[str, None] = {}
        self.managed: dict[str, list[Managed]] = {}
        self._redirect()
        setattr(function, _HOST, self)
        self.handlers = {**(handlers or {})}
        if self.handlers:
            self._set(environment.HANDLERS, _compact(self.handlers))
        elif handler is not None:
            self._set(environment.HANDLER, handler)
        if handler is not None:
            acknowledge(function, FAILURES_HANDLED)

    @staticmethod
    def of(function: lambda_.Function) -> "Host | None":
        """Return the host of `function`; None before its first workflow."""
        host: Host | None = getattr(function, _HOST, None)
        return host

    @property
    def resource(self) -> lambda_.CfnFunction:
        """CloudFormation resource of the function."""
        return resource_of(self.function, lambda_.CfnFunction)

    @property
    def takes_layers(self) -> bool:
        """True unless the function is a container image, which contains the runtime itself."""
        return package_type_of(self.function) != IMAGE

    @cached_property
    def environment_key(self) -> str | None:
        """Customer managed key ARN of the environment, if any."""
        key: str | None = given_properties_of(self.resource).get("kmsKeyArn")
        return key

    @property
    def stack(self) -> str:
        """Path of the function's stack."""
        return path_of(stack_of(self.function))

    def version_arn_in(self, stack: Stack) -> str:
        """Return a token of the version's qualified ARN, for functions of `stack`."""
        # A direct reference would become an export, which pins the version while another stack uses it.
        return self.version_arn if path_of(stack) == self.stack else version_output(self.version, stack)

    def _redirect(self) -> None:
        """Set the runtime's handler."""
        if self.takes_layers:
            # A CDK function has no setter for its handler, so the CloudFormation property changes.
            self.resource.handler = HANDLER
        else:
            self.resource.add_property_override("ImageConfig.Command", [HANDLER])

    def reaches(self, other: "Host") -> bool:
        """Return True if the environment refers to the version of `other`, directly or through other functions."""
        # No recursion: chains of functions can be longer than Python's stack.
        seen: set[Host] = set()
        ahead = {self}
        while ahead:
            seen |= ahead
            ahead = {target for host in ahead for target in host.references} - seen
        return other in seen

    def has_room_for(self, workflow: str, service: Mapping[str, Any]) -> bool:
        """Return True if the environment has room for `service`, and for variables that the user adds later."""
        resource = self.resource
        users = environment.literal_variables(resource, properties_of(resource))
        services = {name: _longest_values(each) for name, each in {**self._services, workflow: service}.items()}
        longest = {name: value if isinstance(value, str) else environment.TOKEN for name, value in users.items()}
        size = environment.min_bytes({**longest, **self._variables, environment.WORKFLOWS: _compact(services)})
        return size + environment.RESERVED_BYTES <= environment.MAX_BYTES

    def serve(
        self, workflow: str, layers: WorkflowLayers, service: Mapping[str, Any], *, brings_file: bool = False
    ) -> None:
        """Add a workflow to the function.

        Args:
            workflow: workflow name.
            layers: the workflow's layers in the function's stack.
            service: fields of `unum_runtime.functions.configuration.Service`.
            brings_file: True if the function has the definition in a layer.

        Raises:
            ConstructError: the environment would be too large, or the function would have too many layers.
        """
        self._services[workflow] = service
        self._check_environment()
        self._set(environment.WORKFLOWS, environment.json_of(stack_of(self.function), self._services))
        if self.takes_layers:
            self._add_layers(layers, brings_file=brings_file)
        else:
            # An image has its own runtime, but its failure handler has modules for what this definition can contain.
            layers.first.publish_with(self.function)

    @property
    def has_user_code(self) -> bool:
        """Return True unless the workflow made the function, which then has none."""
        return environment.HANDLER in self._variables or environment.HANDLERS in self._variables

    @property
    def is_traced(self) -> bool:
        """Return True if X-Ray traces the function."""
        found = given_properties_of(self.resource).get("tracingConfig")
        mode = found.get("mode") if isinstance(found, Mapping) else getattr(found, "mode", None)
        return mode == _ACTIVE

    def trace(self, kinds: Iterable[str], variables: Mapping[str, str]) -> None:
        """Let the function trace its user code.

        Args:
            kinds: kinds of traces, in addition to those of other workflows.
            variables: environment variables for them.
        """
        self.traces |= dict.fromkeys(kinds)
        if self.traces:
            self._set(TRACES, ",".join(self.traces))
        for variable, value in variables.items():
            self._set(variable, value)

    @property
    def workflows(self) -> Collection[str]:
        """Names of the workflows that use this function."""
        return self._services.keys()

    def serves(self, workflow: str) -> bool:
        """Return True if a workflow named `workflow` uses this function."""
        return workflow in self._services

    def add_caller(self, caller: Caller) -> None:
        """Deny `caller`, which may invoke all versions of the function, the aliases that take no events of nodes.

        An explicit denial covers grants of the user, too: a Task starts executions of a workflow that begins in a
        function which may follow it.
        """
        self._callers.append(caller)
        for workflow in self._starting:
            self._deny_aliases(workflow, caller)

    def add_starts(self, workflow: str) -> None:
        """Let executions of `workflow` start in this function, by none of the other functions that may invoke it."""
        self._starting.append(workflow)
        for caller in self._callers:
            self._deny_aliases(workflow, caller)

    def _deny_aliases(self, workflow: str, caller: Caller) -> None:
        # Functions may share a role, and the function's own code starts executions anyway.
        if caller.role is role_of(self.function):
            return
        aliases = (start_alias(workflow), run_alias(workflow), response_alias(workflow))
        arns = [f"{caller.arn}:{alias}" for alias in aliases]
        denied = iam.PolicyStatement(effect=iam.Effect.DENY, actions=["lambda:InvokeFunction"], resources=arns)
        caller.policy.add_statements(denied)

    def _add_layers(self, layers: WorkflowLayers, *, brings_file: bool) -> None:
        # The CDK checks the limit of 5. Reading the list first would freeze it, in older versions of the CDK.
        try:
            # Functions with user code have checks of their own; see `unum_constructs.assembly.wrapping`.
            layers.add_to(self.function, is_watched=not self.has_user_code)
            if brings_file:
                layers.definition.add_to(self.function)
        except (JSIIError, RuntimeError) as error:
            raise ConstructError(
                self.function,
                "Lambda allows 5 layers; all workflows together need one, and one for each large definition of which "
                f"executions start in the function: merge some of them, or pass an alias or a version of the function, "
                f"which Tasks call ({error})",
            ) from error

    def _set(self, variable: str, value: str) -> None:
        self._variables[variable] = value
        self.function.add_environment(variable, value)

    def _check_environment(self) -> None:
        """Raise if the workflows' variables could exceed the limit, with ARNs and names of the greatest length."""
        deployed = {name: _longest_values(service) for name, service in self._services.items()}
        size = self._size_with(deployed)
        if size > environment.MAX_BYTES:
            tables = {name: {"table": self._longest_name(each["table"])} for name, each in self._services.items()}
            size = self._size_with({name: {**each, **tables[name]} for name, each in deployed.items()})
        if size > environment.MAX_BYTES:
            following = sum(len(service.get("routes", ())) for service in self._services.values())
            raise ConstructError(
                self.function,
                f"routes: expected an environment of at most {environment.MAX_BYTES} bytes, got {size} for {following} "
                f"functions that may follow this one, and workflows: {len(self._services)}; let one function host "
                "several of them, or insert a function in between",
            )

    def _size_with(self, services: Mapping[str, Any]) -> int:
        return environment.min_bytes({**self._variables, environment.WORKFLOWS: _compact(services)})

    def _longest_name(self, name: str) -> str:
        """Return a text as long as `name` can become: CloudFormation generates names from stack and resource."""
        stack = stack_of(self.function)
        match stack.resolve(name):
            case str() as known:
                return known
            case {"Ref": str() as logical_id} if not is_token(stack.stack_name):
                return f"{stack.stack_name}-{logical_id}-{environment.GENERATED}"
        return environment.TOKEN

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables that workflows have set; with tokens."""
        return self._variables

    def environment_problems(self, variables: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
        """Yield problems of the user's changes to the environment.

        Args:
            variables: current environment, resolved.
            own: `Host.variables`, resolved.
        """
        yield from environment.variable_problems(variables, own)
        least_own = {**self._variables, environment.WORKFLOWS: _compact(self._shortest_services())}
        size, least = environment.min_bytes({**variables, **least_own}), environment.min_bytes(least_own)
        if size > environment.MAX_BYTES:
            yield (
                f"its environment has at least {size} bytes, {least} of which are the workflow's; Lambda allows "
                f"{environment.MAX_BYTES}, as JSON: keep large values elsewhere, such as in Parameter Store"
            )

    def _shortest_services(self) -> Any:
        """Return the workflows' fields with ARNs of the least length."""
        return {
            name: {**service, "routes": {key: _shortest_arn(arn) for key, arn in service.get("routes", {}).items()}}
            for name, service in self._services.items()
        }

    def allow_recursion(self) -> None:
        """Exempt the function from Lambda's recursion detection: loops and retries invoke it again.

        Source: AWS Lambda Developer Guide, "Use Lambda recursive loop detection to prevent infinite loops".

        Raises:
            ConstructError: the user has set ``TERMINATE``.
        """
        if given_properties_of(self.resource).get("recursiveLoop") == "Terminate":
            raise ConstructError(
                self.function,
                "expected recursive_loop=ALLOW, got TERMINATE: a loop or a retry of the workflow leads back to this "
                "function, and Lambda would stop it; remove the argument",
            )
        self.resource.recursive_loop = "Allow"

    def claim_failures(self, failures: Failures) -> Failures:
        """Return the function's destination of failed events: `failures`, unless another workflow came first.

        Raises:
            ConstructError: the other workflow has other limits.
        """
        if self.failures is None:
            self.failures = failures
        if self.failures is failures:
            return failures
        if self.failures.limits != failures.limits:
            raise ConstructError(
                self.function,
                f"expected max_event_age and retry_attempts as in its first workflow, {tuple(self.failures.limits)}, "
                f"got {tuple(failures.limits)}: a function has one of each; give both workflows the same, or "
                "make two functions",
            )
        return self.failures

    def send_failures(self, failures: Failures, *, after: IDependable) -> None:
        """Let Lambda send failed events of the version to the failure handler.

        The configuration is retained with the version; a new version gets its own.

        Args:
            failures: destination and limits.
            after: permission; Lambda refuses a destination without it.

        Raises:
            ConstructError: the user has configured the version.
        """
        try:
            configuration = failures.configure(
                self.version, function_name=name_of(self.function), qualifier=self.version.version
            )
        except (JSIIError, RuntimeError) as error:
            # Asking for it before would be two requests to the CDK's process for each function.
            if self.version.node.try_find_child(ASYNC_CONFIGURATION) is None:
                raise
            raise ConstructError(self.function, OWN_CONFIGURATION) from error
        configuration.node.add_dependency(after)
        retain_with(self.version, configuration, suffix="OnFailure")


_HOST = "_unum_host"
"""Attribute of a function in Python; the question for its child would be a request to the CDK's process."""


def async_configuration(
    scope: Construct,
    *,
    function_name: str,
    qualifier: str,
    destination: str,
    limits: DeliveryLimits = LAMBDA_LIMITS,
) -> lambda_.CfnEventInvokeConfig:
    """Configure asynchronous invocation of a version or alias: limits and on-failure destination."""
    on_failure = lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=destination)
    return lambda_.CfnEventInvokeConfig(
        scope,
        ASYNC_CONFIGURATION,
        function_name=function_name,
        qualifier=qualifier,
        destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(on_failure=on_failure),
        maximum_event_age_in_seconds=limits.max_event_age_s,
        maximum_retry_attempts=limits.retry_attempts,
    )


def _compact(value: Any) -> str:
    return to_ascii(value, is_compact=True)


def _shortest_arn(arn: str) -> str:
    return "x" * environment.MIN_ARN_BYTES if is_token(arn) else arn


def _longest_values(value: Any) -> Any:
    """Return `value` with texts of the greatest length in place of tokens."""
    match value:
        case Mapping():
            return {key: _longest_values(item) for key, item in value.items()}
        case str() if is_token(value):
            return environment.TOKEN
    return value
