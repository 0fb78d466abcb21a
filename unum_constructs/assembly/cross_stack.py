"""Cross-stack references between workflow and functions.

The workflow's stack depends on the stacks of its functions, as a state machine's would, and is deployed after them. Its
references to them are weak: their stacks may change or delete what it uses. Resources of the workflow that they need
have names fixed at synth, because references back would make the stacks depend on each other. Versions are therefore
published first; executions start on them when the workflow's start alias moves.

A nested stack is a resource of the stack around it. The workflow reads outputs of that resource. Functions in it know
the workflow by names, too: a parameter would change without changing their template, so no new version would be
published.

Source: AWS CloudFormation Template Reference, "Fn::GetStackOutput"; AWS CDK, "Reference strength".
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from aws_cdk import Aws, Fn, ReferenceStrength, Stack, Token
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct, IDependable
from jsii.errors import JSIIError

from unum_constructs.cdk.lambda_runtimes import newest_python
from unum_constructs.cdk.lookup import node_of, path_of, resource_of, stack_of
from unum_constructs.cdk.storage import BucketStorage, Storage, TableStorage
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import FailureDestination, Failures, Host
from unum_constructs.hosting.version_ids import nested_in, retain_with
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_runtime.store.base import BUCKET as BUCKET_ADDRESS

BUCKET = "payloads"
"""Purpose of the name of a bucket."""

_LONGEST_PREFIX = 60
"""Characters of a name before its digest; queue names have at most 80. Source: Amazon SQS API Reference, CreateQueue.
"""


class CrossStackHandler(Construct):
    """Failure handler of another stack, imported into the workflow's stack.

    Attributes:
        function: imported function.
    """

    def __init__(self, scope: Construct, handler: FailureDestination) -> None:
        super().__init__(scope, f"Handler-{node_of(handler.function).addr[-8:]}")
        arn = resource_of(handler.function, lambda_.CfnFunction).attr_arn
        self.function = lambda_.Function.from_function_arn(
            self, "Function", _weak_reference(self, handler.function, arn)
        )

    def addresses(self, *, reports_starts: bool) -> Sequence[str]:  # noqa: ARG002 - a handler of one workflow
        """Return no aliases."""
        return ()


def handler_known_to(workflow: Construct, handler: FailureDestination) -> "FailureDestination | CrossStackHandler":
    """Return `handler`, or import a handler of another stack into the stack of `workflow`."""
    if path_of(stack_of(handler.function)) == path_of(stack_of(workflow)):
        return handler
    return CrossStackHandler(workflow, handler)


class CrossStackFunction(Construct):
    """Function of another stack, as known in the workflow's stack.

    Args:
        scope: construct in the workflow.
        construct_id: id below `scope`.
        host: the function.

    Attributes:
        function: imported function with its role, so that the workflow's stack can attach policies.
        environment_key: ARN of the customer managed key of its environment, if any.
    """

    def __init__(self, scope: Construct, construct_id: str, host: Host) -> None:
        super().__init__(scope, construct_id)
        self._host = host
        self.environment_key = host.environment_key
        self.function = lambda_.Function.from_function_attributes(
            self,
            "Function",
            function_arn=_weak_reference(self, host.function, host.resource.attr_arn),
            role=iam.Role.from_role_name(self, "Role", _role_name(self, host)),
            same_environment=True,
        )

    def send_failures(self, failures: Failures, *, after: IDependable) -> None:
        """Send failed events of the host's version to the workflow's failure handler; see `Host.send_failures`."""
        # A qualified ARN is arn:PARTITION:lambda:REGION:ACCOUNT:function:NAME:VERSION, so parts 6 and 7.
        arn = Fn.split(":", self._host.version_arn_in(Stack.of(self)))
        configuration = failures.configure(self, function_name=Fn.select(6, arn), qualifier=Fn.select(7, arn))
        configuration.node.add_dependency(after)
        # Functions of different stacks may have equal logical ids; the address keeps their destinations apart.
        retain_with(self._host.version, configuration, suffix=f"OnFailure{self.node.addr[-8:]}")


def functions_known_to(workflow: Construct, hosts: Mapping[str, Host]) -> dict[str, Host | CrossStackFunction]:
    """Return the workflow's functions by key, as known in its stack."""
    here, place = path_of(stack_of(workflow)), Construct(workflow, "Functions")
    known: dict[Host, Host | CrossStackFunction] = {}
    for key, host in hosts.items():
        if host not in known:
            known[host] = host if host.stack == here else CrossStackFunction(place, key, host)
    return {key: known[host] for key, host in hosts.items()}


def distant_layers_of(
    workflow: Construct, layers: WorkflowLayers, hosts: Collection[Host]
) -> dict[str, WorkflowLayers]:
    """Make layers like `layers` in each other stack of the workflow's functions; return them by stack path."""
    stacks = {host.stack: stack_of(host.function) for host in hosts}
    stacks.pop(path_of(stack_of(workflow)), None)
    # The path makes the id unique among workflows of several stacks that share this stack.
    place = "-".join(("Unum", *workflow.node.path.split("/")))
    made: dict[str, WorkflowLayers] = {}
    for path, stack in stacks.items():
        python = newest_python(_in_stack(path, hosts))
        made[path] = WorkflowLayers(Construct(stack, place), facts=layers.facts, python=python)
    return made


def _in_stack(path: str, hosts: Iterable[Host]) -> list[lambda_.Function]:
    return [host.function for host in hosts if host.stack == path]


def placement_problems(here: Stack, function: lambda_.Function) -> Iterator[str]:
    """Yield the reasons that exclude `function` from a workflow in the stack `here`."""
    there = stack_of(function)
    if (here.nested or there.nested) and not nested_in(here, there):
        yield (
            "expected a function of the workflow's stack, or of a stack nested directly in it, got one of "
            f"{path_of(there)!r} for a workflow in {path_of(here)!r}; move the workflow to the stack around nested "
            "ones, or pass an alias or a version of the function, which Tasks call"
        )
    if here.environment != there.environment:
        yield (
            f"expected a function of the workflow's account and region, {here.environment}, got {there.environment}; "
            "move the function or the workflow"
        )


def deploy_after(workflow: Construct, hosts: Iterable[Host]) -> None:
    """Make the workflow's stack depend on the stacks of its functions, except nested ones, which already precede it."""
    here = stack_of(workflow)
    for stack in {host.stack: stack_of(host.function) for host in hosts}.values():
        if path_of(stack) != path_of(here) and not nested_in(here, stack):
            _depend(here, stack)


def deploy_after_claim(workflow: Construct, host: Host, claimed: Failures) -> None:
    """Make the workflow's stack depend on the stack with the failure configuration of `host`.

    Raises:
        ConstructError: that stack is deployed after this one.
    """
    here, there = stack_of(workflow), stack_of(claimed.handler.function)
    if path_of(here) == path_of(there):
        return
    try:
        _depend(here, there)
    except (JSIIError, RuntimeError) as error:
        raise ConstructError(
            host.function,
            f"its first workflow, in the stack {path_of(there)!r}, says where its failed events go, so the stack of "
            f"{path_of(workflow)} is deployed after that one; make the workflow of {path_of(here)!r} first, or make "
            "two functions",
        ) from error


def _depend(here: Stack, there: Stack) -> None:
    # Older releases of aws-cdk-lib know the method as `add_dependency`, which newer ones deprecate.
    (here.add_stack_dependency if hasattr(here, "add_stack_dependency") else here.add_dependency)(there)


def store_address(workflow: Construct, storage: Storage) -> str:
    """Return the address of `storage` for functions of other stacks.

    Raises:
        ConstructError: it is known only by a reference to the workflow's stack, which depends on theirs.
    """
    if isinstance(storage, BucketStorage):
        return BUCKET_ADDRESS + bucket_name(workflow, storage.bucket, "store", "bucket")
    return _table_name(workflow, storage.table) if isinstance(storage, TableStorage) else storage.address


def _table_name(workflow: Construct, table: dynamodb.ITable) -> str:
    resource = table.node.default_child
    named = resource.table_name if isinstance(resource, dynamodb.CfnTable | dynamodb.CfnGlobalTable) else None
    if named is not None and not Token.is_unresolved(named):
        return named
    _check_is_elsewhere(workflow, table, "store: expected a table", "set `table_name`, or leave out `table`")
    return table.table_name


def bucket_name(
    workflow: Construct,
    bucket: s3.IBucket,
    option: str = "execution_data.payload_bucket",
    argument: str = "payload_bucket",
) -> str:
    """Return the name of `bucket` for functions of other stacks.

    Raises:
        ConstructError: the name is known only by a reference to the workflow's stack, which depends on theirs.
    """
    resource = bucket.node.default_child
    named = resource.bucket_name if isinstance(resource, s3.CfnBucket) else None
    if named is not None and Stack.of(bucket).resolve(named) is not None:
        return named
    remedy = f"set `bucket_name`, or leave out `{argument}`"
    _check_is_elsewhere(workflow, bucket, f"{option}: expected a bucket", remedy)
    return bucket.bucket_name


def _check_is_elsewhere(workflow: Construct, resource: IConstruct, expected: str, remedy: str) -> None:
    """Raise if `resource` belongs to the workflow's stack: only a circular reference could tell its name.

    Raises:
        ConstructError: names the resource.
    """
    if resource.node.default_child is not None and Stack.of(resource).node.path == Stack.of(workflow).node.path:
        raise ConstructError(
            workflow,
            f"{expected} with a name, or one of another stack, got {resource.node.path}: functions of other stacks "
            f"must know the name before the workflow's stack is deployed; {remedy}",
        )


def fixed_name(workflow: Construct, purpose: str, hosts: Iterable[Host]) -> str | None:
    """Return a unique name if functions of other stacks need one; None leaves the name to CloudFormation."""
    if {host.stack for host in hosts} <= {path_of(stack_of(workflow))}:
        return None
    # The digest covers the stack's name, so that two deployments of one app in an account do not collide.
    path = f"{Stack.of(workflow).stack_name}/{workflow.node.path}/{purpose}"
    name = f"{workflow.node.id}-{purpose}"
    name = f"{name[:_LONGEST_PREFIX]}-{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    if purpose != BUCKET:
        return name
    # Bucket names are unique across accounts, have at most 63 characters and no capitals. Source: Amazon S3 User Guide,
    # "General purpose bucket naming rules".
    return f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{Aws.ACCOUNT_ID}-{Aws.REGION}"


def queue_url(name: str | None) -> str:
    """Return the URL of the queue `name` in this account and region.

    Source: Amazon SQS Developer Guide, "Queue and message identifiers".
    """
    return f"https://sqs.{Aws.REGION}.{Aws.URL_SUFFIX}/{Aws.ACCOUNT_ID}/{name}"


def _role_name(scope: Construct, host: Host) -> str:
    role = host.function.role
    assert role is not None  # noqa: S101 - every function that an app creates has one
    resource = role.node.default_child
    return _weak_reference(scope, host.function, resource.ref) if isinstance(resource, iam.CfnRole) else role.role_name


def _weak_reference(scope: Construct, function: lambda_.IFunction, token: str) -> str:
    """Turn `token`, from the function's stack, into a weak reference in the stack of `scope`, without exports."""
    if nested_in(stack_of(scope), stack_of(function)):
        return token
    # A strong reference becomes an export, and CloudFormation refuses to change or delete an export in use.
    return Stack.consume_reference(token, ReferenceStrength.WEAK)
