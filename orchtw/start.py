"""Ends of a start: the port is taken before anything else, and a failure is one clear line and a status.

What can be known before `twistd` goes to the background (flags, files, keys, the port, the store's
vocabulary) is checked in `make_service`, whose ConfigError `tap` turns into lines and an exit status in the
terminal that asked. What fails later, once the reactor runs, goes through `begin`.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorCore
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.config import Config
from orchtw.errors import ConfigError

EXIT_FAILED = 1
_log = Logger()


def bind(config: Config) -> socket.socket:
    """A socket bound to the configured address and port, not yet listening; its number is known from here on.

    Raises ConfigError when the port is taken or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in config.bind_address else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setblocking(False)
        bound.bind((config.bind_address, config.secure_port))
    except OSError as error:
        bound.close()
        address = host_and_port(config.bind_address, config.secure_port)
        raise ConfigError(f"cannot listen on {address}: {os.strerror(error.errno or 0)}") from error
    return bound


def host_and_port(address: str, port: int) -> str:
    """`127.0.0.1:6443` or `[::1]:6443`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def lines_of(error: BaseException) -> list[str]:
    """What the operator reads of a failed start: one line for each problem, each beginning with `Error: `."""
    problems = error.problems if isinstance(error, ConfigError) else (f"{type(error).__name__}: {error}",)
    return [f"Error: {' '.join(problem.split())}" for problem in problems]


def begin(reactor: IReactorCore, start: Coroutine[Any, Any, None]) -> Deferred[None]:
    """Run a service's asynchronous start; if it fails, end the process as `fail_start` does.

    A failure other than ConfigError is the server's own fault: its traceback goes to the log besides.
    """

    def failed(failure: Failure) -> None:
        error = failure.value
        assert error is not None
        if not isinstance(error, ConfigError):
            _log.failure("the start failed", failure=failure)
        fail_start(reactor, error)

    return Deferred.fromCoroutine(start).addErrback(failed)


def fail_start(reactor: IReactorCore, error: BaseException) -> None:
    """Say why the start failed, stop the reactor in good order, and end the process with status 1.

    The lines go to the real standard error (`twistd` has pointed `sys.stderr` at its log) and to the log.
    """
    lines = lines_of(error)
    if sys.__stderr__ is not None:
        print(*lines, sep="\n", file=sys.__stderr__, flush=True)
    for line in lines:
        _log.critical("{line}", line=line)
    atexit.register(_exit_failed)
    reactor.callWhenRunning(reactor.stop)


def _exit_failed() -> None:
    """Set the exit status: `twistd` itself ends with 0 whenever its reactor was stopped."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.flush()
    os._exit(EXIT_FAILED)
