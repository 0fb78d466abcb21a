"""The page's application and its server."""

import socket
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from unum_cli.ui.assets import asset
from unum_cli.ui.guard import HOST, Guard
from unum_cli.ui.operations import Operations
from unum_cli.ui.pages import Pages
from unum_cli.ui.site import Site

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
