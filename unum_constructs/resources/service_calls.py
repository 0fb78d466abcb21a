"""What a workflow may do beside the calls that its definition names: grants for the function that calls services."""

import jsii
from aws_cdk import aws_iam as iam
from constructs import Construct

from unum_compiler.parsing.task_resources import SERVICES
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host


@jsii.implements(iam.IGrantable)
class CallingWorkflow(Construct):
    """A workflow that may be granted something, as ``key.grant_decrypt(workflow)`` does, if its Tasks call services.

    What the definition names is allowed without; but not, for example, the key of a queue that it sends to.
    """

    _hosts: dict[str, Host]

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The role of the function that calls services.

        Raises:
            ConstructError: no Task calls a service; functions of the user's are granted what they need by themselves.
        """
        if SERVICES not in self._hosts:
            raise ConstructError(
                self,
                "expected a Task that calls a service, found none that this could be granted for; grant it to the "
                "function whose code needs it",
            )
        return self._hosts[SERVICES].function.grant_principal

    def add_to_role_policy(self, statement: iam.PolicyStatement) -> None:
        """Add `statement` to what the function that calls services may do.

        Raises:
            ConstructError: no Task calls a service.
        """
        self.grant_principal.add_to_principal_policy(statement)
