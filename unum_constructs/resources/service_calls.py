"""Additional grants for the service function."""

import jsii
from aws_cdk import aws_iam as iam
from constructs import Construct

from unum_compiler.parsing.task_resources import SERVICES
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host


@jsii.implements(iam.IGrantable)
class CallingWorkflow(Construct):
    """Workflow as a grantee, as in ``key.grant_decrypt(workflow)``, if its Tasks request services.

    The definition's own calls are allowed without a grant; the customer managed key of a queue, for example, needs one.
    """

    _hosts: dict[str, Host]

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """Role of the service function.

        Raises:
            ConstructError: no Task requests a service; grant permissions to the user's functions directly.
        """
        if SERVICES not in self._hosts:
            raise ConstructError(
                self,
                "expected a Task that calls a service, found none; grant the permission to the function whose code "
                "needs it",
            )
        return self._hosts[SERVICES].function.grant_principal
