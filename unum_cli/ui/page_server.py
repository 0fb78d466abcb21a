"""The page's application and its server."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from unum_cli.ui.guard import HOST, Guard
from unum_cli.ui.operations import Operations
from unum_cli.ui.pages import Pages
from unum_cli.ui.site import FOLDER, Site

if TYPE_CHECKING:
    from collections.abc import Callable

_WORKFLOW = "/{stack}/{workflow}"
_EXECUTION = f"{_WORKFLOW}/executions/{{name}}"


def application(site: Site) -> Starlette:
    """Return the application of `site`; without `Site.allow_changes`, it has no path that changes anything."""
    pages = Pages(site)
    read: dict[str, Callable[[Request], Response]] = {
        "/": pages.workflows,
        f"{_WORKFLOW}/": pages.executions,
        f"{_WORKFLOW}/versions": pages.versions,
        _EXECUTION: pages.execution,
        f"{_EXECUTION}/step": pages.step,
        f"{_EXECUTION}/logs": pages.logs,
        f"{_EXECUTION}/branches": pages.branches,
        f"{_EXECUTION}/branch": pages.branch,
        f"{_EXECUTION}/value": pages.value,
        "/assets/{name}": _asset,
    }
    routes = [Route(path, show) for path, show in read.items()]
    if site.allow_changes:
        operations = Operations(site)
        for path in (f"{_WORKFLOW}/{{verb}}", f"{_EXECUTION}/{{verb}}"):
            routes += [Route(path, operations.ask), Route(path, operations.perform, methods=["POST"])]
    guard = Middleware(Guard, secrets=site.secrets)
    return Starlette(routes=routes, middleware=[guard], exception_handlers=site.handlers)


def open_socket(port: int) -> socket.socket:
    """Return a socket on this machine's loopback interface; port 0 chooses a free one.

    Raises:
        OSError: the port is in use.
    """
    # It listens before the server runs, so that a browser that is opened at once waits instead of failing.
    return socket.create_server((HOST, port))


def server_of(site: Site) -> uvicorn.Server:
    """Return the server of `site`, which logs no request: the first one has the secret."""
    app = application(site)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, proxy_headers=False)
    return uvicorn.Server(config)


def _asset(request: Request) -> Response:
    return FileResponse(asset(request.path_params["name"]))


_FOLDERS = (FOLDER / "static", FOLDER / "static" / "vendor")
"""`make setup` copies the libraries into the second folder, and wheels have it."""

_SUFFIXES = frozenset((".css", ".js", ".svg"))


def asset(name: str) -> Path:
    """Return the file `name`.

    Raises:
        HTTPException: there is no such file.
    """
    # Names are looked up, never joined to a path, so no name leads out of the folders.
    known = {path.name: path for folder in _FOLDERS for path in folder.glob("*.*") if path.suffix in _SUFFIXES}
    if name not in known:
        raise HTTPException(404, f"There is no file {name!r}; in a checkout, `make setup` copies libraries.")
    return known[name]
