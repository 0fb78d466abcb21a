"""SVG pictures of a definition, or of an execution's progress in it."""

from collections.abc import Mapping

from unum_cli.picture.placement import lay_out
from unum_cli.picture.svg import document
from unum_cli.picture.wording import kind, shortened
from unum_client.reading.progress import Progress, Reach
from unum_client.terminal.amounts import duration_text
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import State, Task

LONGEST_LINE = 34


def draw(
    workflow: Workflow, *, progress: Mapping[str, Progress] | None = None, title: str = "", subtitle: str = ""
) -> str:
    """Return SVG text, equal for equal arguments.

    Args:
        workflow: workflow to draw.
        progress: progress of an execution, which colours states and adds durations; None draws the definition.
        title: text above the graph (default: the workflow's name).
        subtitle: text below the title, for example the execution's name and status.
    """
    captions = {name: _caption(state, progress[name] if progress else None) for name, state in workflow.states.items()}
    return document(workflow, lay_out(workflow, captions), captions, progress, (title or workflow.name, subtitle))


def _caption(state: State, progress: Progress | None) -> tuple[str, ...]:
    """Return the lines in a state's box; equally many for each state, so that boxes of a layer align."""
    lines = [state.name, kind(state)]
    if progress:
        lines.append(_measured(state, progress))
    return tuple(shortened(line, LONGEST_LINE) for line in lines)


def _measured(state: State, progress: Progress) -> str:
    """Return count and duration of an execution's visits, as text."""
    if progress.reach is Reach.NOT_REACHED:
        return "not reached"
    times = progress.succeeded + progress.failed + progress.running
    counts = _counts(progress) if times > 1 or progress.running else ""
    duration = _duration(progress) if isinstance(state, Task) else ""
    return " · ".join(filter(None, (counts, duration))) or progress.reach


def _counts(progress: Progress) -> str:
    unfinished = "stopped" if progress.over else "running"
    named = ((progress.succeeded, "done"), (progress.failed, "failed"), (progress.running, unfinished))
    return ", ".join(f"{count} {name}" for count, name in named if count)


def _duration(progress: Progress) -> str:
    match progress.succeeded + progress.failed:
        case 0:
            return ""
        case 1:
            return duration_text(progress.duration_ms)
    return f"slowest {duration_text(progress.slowest_ms)}"
