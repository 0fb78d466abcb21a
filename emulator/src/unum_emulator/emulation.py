"""Installation of all corrections in this process, and the HTTP server.

An import of this module imports ministack, which reads its settings from the environment at import time.
"""

import gc
import socket
from contextlib import nullcontext

import uvicorn
import uvloop
from ministack import app
from ministack.core import lambda_runtime
from ministack.services import lambda_svc

from unum_emulator.access import access_keys, downloads
from unum_emulator.access.access_keys import Keys
from unum_emulator.access.opened_endpoints import Origins
from unum_emulator.access.request_guard import Guard, GuardedApplication
from unum_emulator.aws_lambda import event_sources, function_addresses, invoke_api, node_clients, node_errors
from unum_emulator.aws_lambda.destinations import Destinations
from unum_emulator.aws_lambda.event_queue import AsyncEvents
from unum_emulator.aws_lambda.executor import Executor
from unum_emulator.aws_lambda.fast_path import FastPath
from unum_emulator.aws_lambda.injected_faults import FaultInjector
from unum_emulator.aws_lambda.logs import FunctionLogs
from unum_emulator.aws_lambda.pool import SandboxPool
from unum_emulator.aws_services import (
    cloudformation,
    custom_resources,
    dynamodb_attributes,
    iam_policies,
    mapping_templates,
    message_senders,
    parsing_cache,
    pipes,
    recorded_requests,
    scheduler,
    stack_waits,
    state_machines,
)
from unum_emulator.aws_services.single_writes import SingleWriteProtocol
from unum_emulator.history import History
from unum_emulator.patching import replace
from unum_emulator.process_settings import Settings

_GAPS = (
    invoke_api,
    function_addresses,
    node_clients,
    node_errors,
    event_sources,
    cloudformation,
    stack_waits,
    state_machines,
    iam_policies,
    parsing_cache,
    scheduler,
    pipes,
    mapping_templates,
    message_senders,
    dynamodb_attributes,
)
# Longer than clients keep idle connections open, so that no request meets a closing connection.
_KEEP_ALIVE_S = 75


class Emulation:
    """ministack with the AWS behaviour that asynchronous workflows rely on."""

    def __init__(self, settings: Settings) -> None:
        self._guard = Guard(Keys(settings.key), Origins(settings.port))
        access_keys.install(settings.key)
        downloads.install(settings)
        self._pool = SandboxPool(settings)
        history = History(settings.history)
        faults = FaultInjector(history)
        Executor(self._pool, FunctionLogs(settings.logs), history, faults).install()
        AsyncEvents(settings.dispatchers, Destinations(settings.endpoint), history, faults).install()
        recorded_requests.install(history, faults)
        custom_resources.install(settings.endpoint)
        for gap in _GAPS:
            gap.install()
        self._is_complete = app.AUTH or history.is_kept
        replace(lambda_svc, "_ACCOUNT_CONCURRENCY_CAP", settings.account_concurrency)

    def serve(self, listener: socket.socket) -> None:
        """Serve requests on a listening socket until the process ends.

        ministack's own server, hypercorn, takes 0.8 ms of processor time per request: twice the time of a complete
        DynamoDB response from this server. A workflow step takes three requests.
        """
        config = uvicorn.Config(
            GuardedApplication(app.app, self._guard),
            # The fast path knows neither callers' policies nor the history.
            http=SingleWriteProtocol if self._is_complete else FastPath.behind(self._guard),
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            date_header=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
        )
        server = uvicorn.Server(config)
        # `unum_emulator.server` handles signals, without waiting for open requests.
        server.capture_signals = nullcontext
        gc.freeze()  # imported objects never die; scanning them in every collection takes a tenth of a write's time
        uvloop.run(server.serve(sockets=[listener]))

    def close(self) -> None:
        """Kill all function processes, including those of ministack's executors for other runtimes."""
        self._pool.close()
        lambda_runtime.reset()
