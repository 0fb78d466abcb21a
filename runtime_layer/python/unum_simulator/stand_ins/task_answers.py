"""One answer for each Task: mocks before handlers before samples."""

from collections.abc import Iterable, Mapping

from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Task
from unum_simulator.local import Function
from unum_simulator.stand_ins.called_handlers import handler_names
from unum_simulator.stand_ins.mock_file import MockedCase
from unum_simulator.stand_ins.modelled_services import ModelledServices


class NothingAnswers(KeyError):
    """Tasks without mock, handler and sample.

    Attributes:
        tasks: the Tasks.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.tasks = tuple(tasks)
        named = sorted(task.name for task in self.tasks)
        super().__init__(
            f"nothing answers for the Tasks {named}: add handlers under their names or the keys of their functions, "
            "mocks, or samples"
        )


def answers(
    workflow: Workflow,
    tasks: Iterable[Task],
    functions: Mapping[str, Function],
    mocked: MockedCase | None = None,
    *,
    samples: bool = False,
) -> dict[str, Function]:
    """Return handlers of `tasks`, by Task name or function key; good for one execution.

    Args:
        workflow: the workflow of the Tasks.
        tasks: Tasks that may run.
        functions: handlers by function key or Task name.
        mocked: test case of a mock configuration.
        samples: answer with samples for all others.

    Raises:
        NothingAnswers: a Task has no answer.
        ValueError: the mocks do not fit the workflow.
    """
    mocks = {} if mocked is None else mocked.handlers(workflow)
    others = [task for task in tasks if task.name not in mocks]
    unanswered = [task for task in others if functions.keys().isdisjoint(handler_names(task))]
    if unanswered and not samples:
        raise NothingAnswers(unanswered)
    sampled = ModelledServices(workflow).handlers() if unanswered else {}
    handled = {name: functions[name] for task in others for name in handler_names(task) if name in functions}
    return {**handled, **{task.name: sampled[task.name] for task in unanswered}, **mocks}
