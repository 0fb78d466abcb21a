"""The page as an application: its paths, and what all its pages share."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from unum_cli.commands.printing import attributes_text
from unum_cli.logs.log_lines import shown_text
from unum_cli.ui.directory import Directory, Place
from unum_cli.ui.guard import Secrets
from unum_client.terminal.amounts import duration_text, size_text
from unum_runtime.errors import ClientError, ExecutionDoesNotExist, UnumError
from unum_runtime.json_text import to_text

FOLDER = Path(__file__).parent
_BAD_REQUEST, _NOT_FOUND, _BAD_GATEWAY = 400, 404, 502
_LEAST_USD = Decimal("0.000000001")


@dataclass(frozen=True)
class Site:
    """What all pages share.

    Attributes:
        directory: the workflows.
        secrets: secrets of this run.
        allow_changes: True if the page may change executions.
    """

    directory: Directory
    secrets: Secrets
    allow_changes: bool = False

    def place(self, request: Request) -> Place:
        """Return the workflow in the path.

        Raises:
            HTTPException: no such workflow.
        """
        stack, workflow = request.path_params["stack"], request.path_params["workflow"]
        found = self.directory.places().get((stack, workflow))
        if found is None:
            raise HTTPException(_NOT_FOUND, f"Stack {stack!r} has no workflow {workflow!r}.")
        return found

    def render(self, template: str, /, *, status: int = 200, **context: Any) -> Response:
        """Return the page that `template` makes of `context`."""
        shared = {"allow_changes": self.allow_changes, "csrf": self.secrets.csrf}
        text = _TEMPLATES.get_template(template).render({**shared, **context})
        # Data may have lone surrogates, which UTF-8 cannot encode.
        return HTMLResponse(text.encode("utf-8", "backslashreplace"), status)

    async def render_error(self, _request: Request, error: Exception) -> Response:
        """Return the page that shows `error`."""
        match error:
            case HTTPException(status_code=status, detail=text):
                pass
            case ExecutionDoesNotExist():
                status, text = _NOT_FOUND, str(error)
            case ClientError():
                status, text = _BAD_REQUEST, f"{type(error).__name__}: {error}"
            case _:
                status, text = _BAD_GATEWAY, f"{type(error).__name__}: {error}"
        return self.render("error.html", status=status, text=text)

    @property
    def handlers(self) -> Mapping[Any, Any]:
        """Handlers of errors, for the application."""
        return {HTTPException: self.render_error, UnumError: self.render_error}


def usd_text(usd: float) -> str:
    """Format US dollars with all digits that matter for one execution: ``$0.0000125``."""
    rounded = Decimal(usd).quantize(Decimal("0.01") if usd >= 1 else _LEAST_USD)
    return f"${rounded:,f}" if usd >= 1 else f"${rounded.normalize():f}"


def _ms_time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _lasted(began: datetime, ended: datetime) -> str:
    return duration_text(max(0, int((ended - began).total_seconds() * 1000)))


_TEMPLATES = Environment(
    loader=PackageLoader("unum_cli.ui", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "usd": usd_text,
    "duration": duration_text,
    "size": size_text,
    "text": to_text,
    "at": _ms_time,
    "line": shown_text,
}
_TEMPLATES.globals |= {"attributes_text": attributes_text, "lasted": _lasted}
