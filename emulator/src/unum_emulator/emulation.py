"""Closes all gaps of ministack in this process, and serves it.

Importing this module imports ministack, which takes its settings from the environment at that moment.
"""

import asyncio
import socket

from hypercorn.asyncio import serve
from hypercorn.config import Config
from ministack import app
from ministack.core import lambda_runtime
from ministack.services import lambda_svc

from unum_emulator import (
    actions,
    cloudformation,
    event_sources,
    invoke_api,
    leading_keys,
    qualifiers,
    stepfunctions,
    transport,
)
from unum_emulator.async_events import AsyncEvents
from unum_emulator.destinations import Destinations
from unum_emulator.executor import Executor
from unum_emulator.logs import FunctionLogs
from unum_emulator.patching import replace
from unum_emulator.pool import SandboxPool
from unum_emulator.settings import Settings

_GAPS = (invoke_api, qualifiers, event_sources, cloudformation, stepfunctions, transport, actions, leading_keys)


class Emulation:
    """ministack with the behaviour of AWS that asynchronous workflows rely on."""

    def __init__(self, settings: Settings) -> None:
        self._pool = SandboxPool(settings)
        Executor(self._pool, FunctionLogs(settings.logs)).install()
        AsyncEvents(settings.dispatchers, Destinations(settings.endpoint)).install()
        for gap in _GAPS:
            gap.install()
        replace(lambda_svc, "_ACCOUNT_CONCURRENCY_CAP", settings.account_concurrency)

    def serve(self, listener: socket.socket) -> None:
        """Answer requests on a listening socket until the process ends."""
        config = Config()
        config.bind = [f"fd://{listener.detach()}"]
        config.keep_alive_timeout = 75
        config.loglevel = "WARNING"
        asyncio.run(serve(app.app, config, shutdown_trigger=asyncio.Event().wait))

    def close(self) -> None:
        """Kill all function processes, ministack's own for other runtimes included."""
        self._pool.close()
        lambda_runtime.reset()
