"""Control plane of several workflows: what operates them, and goes on from their failed events."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.cdk.lookup import arn_of, path_of, stack_of
from unum_constructs.cdk.nag import acknowledge_policies
from unum_constructs.errors import ConstructError
from unum_constructs.resources.own_functions import OwnFunctions
from unum_constructs.resources.plane_members import SharedFunction
from unum_constructs.sweep import HOURLY, Sweep, WorkflowSweep
from unum_runtime.protocol.control.control_aliases import ControlAlias


class UnumControlPlane(Construct):
    """Control function, failure handler, dead-letter queue with its alarm, and sweep of the workflows of a stack.

    A workflow makes all this for itself unless it is given as its `control_plane`. A workflow more in a control plane
    adds few resources beside its functions. Each workflow has aliases of its own, so no function and no operator of one
    workflow reaches another through it.

    Args:
        scope: parent construct, in the stack of the workflows.
        construct_id: id below `scope`.
        sweep: periodic search for stalled executions of all workflows; made by `Sweep.every`. None: no search.
        encryption_key: customer managed KMS key for queue, log group and environment.
        own_functions: VPC, architecture, tracing and logs of the function.

    Raises:
        ConstructError: an option is invalid.

    Attributes:
        function: control function and failure handler.
        failure_queue: dead-letter queue; keeps messages for 14 days.
        failure_alarm: alarm on messages in `failure_queue`; add actions to it.
        operate_alias: alias that takes every request of operators, for all workflows.
        sweep: schedule of the search for stalled executions; None without one.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        sweep: Sweep | None = HOURLY,
        encryption_key: kms.IKey | None = None,
        own_functions: OwnFunctions | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        options = own_functions or OwnFunctions()
        self.shared = SharedFunction(
            self, "Control", provision=options.provision(self, encryption_key, options.tracing)
        )
        self.function, self.failure_queue = self.shared.function, self.shared.queue
        self.failure_alarm = self.shared.alarm
        self.operate_alias = self._alias("Operate", ControlAlias.OPERATE)
        self._encryption_key, self.swept = encryption_key, None if sweep is None else sweep.checked_interval(self)
        self.sweep: WorkflowSweep | None = None
        if self.swept is not None:
            alias = self._alias("Sweeps", ControlAlias.SWEEP)
            self.sweep = WorkflowSweep(
                self,
                "Sweep",
                options=self.swept,
                alias=alias,
                policy=self.shared.policy,
                dead_letters=self.failure_queue,
            )

        acknowledge_policies(self, [arn_of(self.function)], ())

    def _alias(self, construct_id: str, kind: ControlAlias) -> lambda_.Alias:
        return lambda_.Alias(self, construct_id, alias_name=kind.value, version=self.shared.version)

    def check_member(self, workflow: Construct, *, sweep: Sweep | None, encryption_key: kms.IKey | None) -> None:
        """Check options of `workflow`, which is to share this control plane.

        Raises:
            ConstructError: it belongs to another stack, or an option contradicts this control plane.
        """
        here, there = path_of(stack_of(self)), path_of(stack_of(workflow))
        if here != there:
            raise ConstructError(
                workflow, f"control_plane: expected one of the stack {there!r}, got one of {here!r}; make one there"
            )
        if sweep is not HOURLY:
            remedy = "give `UnumControlPlane` the sweep of all its workflows"
            raise ConstructError(workflow, f"sweep: expected none beside `control_plane`, got {sweep!r}; {remedy}")
        if encryption_key is not self._encryption_key:
            raise ConstructError(
                workflow,
                "encryption_key: expected the key of `control_plane`, whose queue keeps failed events, got another; "
                "give both the same",
            )

    def grant_operate(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow every request of operators, for all workflows of this control plane."""
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=["lambda:InvokeFunction"], resource_arns=[self.operate_alias.function_arn]
        )
