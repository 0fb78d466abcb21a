from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, Limits, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
TIMEOUT_S = 3
MEMORY_MB = 128

IMPORT = "import a_module_that_is_nowhere\n\ndef handle(event, context):\n    return event\n"
SYNTAX = "def handle(event, context)\n    return event\n"


WIDTH, INVOCATIONS = 4, 6
"""Budgets: a Map of four items would be wide enough, and is too many invocations."""


class Failures(Stack):
    """One workflow with a case for every way in which a function can end without an answer."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions={
                "Sleep": self._dying("Sleep", "sleep", timeout=Duration.seconds(TIMEOUT_S)),
                "Hoard": self._dying("Hoard", "hoard", memory_size=MEMORY_MB),
                "Exit": self._dying("Exit", "exit_"),
                "Recover": self._dying("Recover", "recover"),
                "Branch": self._dying("Branch", "branch"),
                "Tell": self._dying("Tell", "tell"),
                "Import": self._broken("Import", IMPORT),
                "Misspell": self._broken("Misspell", SYNTAX),
            },
            limits=Limits(width_budget=WIDTH, invocation_budget=INVOCATIONS),
        )
        CfnOutput(self, "DeadLetters", value=self.workflow.failure_queue.queue_url)

    def _dying(self, key: str, name: str, **options: Any) -> UnumFunction:
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        return UnumFunction(self, key, handler=f"dying.{name}", code=code, **options)

    def _broken(self, key: str, code: str) -> UnumFunction:
        return UnumFunction(self, key, handler="index.handle", code=lambda_.Code.from_inline(code))
