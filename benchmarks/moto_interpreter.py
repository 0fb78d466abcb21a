"""Data flow of a Task in moto's interpreter; `dataflow.py` runs it in an environment with moto's extra.

It evaluates only the five fields: no event history, no retriers, no timeout thread.
"""

import copy
import json
import sys
from typing import Any

from case import EXECUTION_NAME, INPUT, OUTPUT, PARAMETERS, RESULT, TASK
from moto.stepfunctions.parser.api import StateMachineType
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.evaluation_details import AWSExecutionDetails
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventHistoryContext
from moto.stepfunctions.parser.asl.eval.states import ContextObjectData, ExecutionData, StateMachineData
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from timing import microseconds


class Task:
    """The Task as moto parses it."""

    def __init__(self) -> None:
        definition = json.dumps({"StartAt": "Charge", "States": {"Charge": TASK}})
        program: Any = AmazonStateLanguageParser.parse(definition)[0]
        context: Any = ContextObjectData(
            Execution=ExecutionData(
                Id="arn", Input=INPUT, Name=EXECUTION_NAME, RoleArn="r", StartTime="2025-11-12T18:43:48Z"
            ),
            StateMachine=StateMachineData(Id="arn", Name="w"),
        )  # type: ignore[typeddict-item]  # as moto itself makes it
        self._state = program.states.states["Charge"]
        self._env = Environment(
            aws_execution_details=AWSExecutionDetails(account="123456789012", region="us-east-1", role_arn="r"),
            execution_type=StateMachineType.STANDARD,
            context=context,
            event_history_context=EventHistoryContext.of_program_start(),
            cloud_watch_logging_session=None,
            activity_store={},
        )
        self._env.next_state_name = "Charge"  # the state that moto's evaluation runs

    def parameters(self) -> Any:
        """Return the effective input."""
        # An earlier visit leaves its values on the stack.
        self._env.stack.clear()
        self._env.states.reset(INPUT)
        self._state.input_path.eval(self._env)
        self._state.parargs.eval(self._env)
        return self._env.stack.pop()

    def output(self) -> Any:
        """Return the output."""
        # moto changes the result in place.
        self._env.stack.append(copy.deepcopy(RESULT))
        self._state.result_selector.eval(self._env)
        self._state.result_path.eval(self._env)
        self._state.output_path.eval(self._env)
        return self._env.states.get_input()

    def visit(self) -> None:
        """Evaluate input and output."""
        self.parameters()
        self.output()


def main() -> None:
    """Print the time per visit."""
    task = Task()
    found = (task.parameters(), task.output())
    if found != (PARAMETERS, OUTPUT):
        sys.exit(f"moto: expected {(PARAMETERS, OUTPUT)}, got {found}")
    print(microseconds(task.visit, visits=5))


if __name__ == "__main__":
    main()
