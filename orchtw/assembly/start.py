"""Ends of the process: a start that fails with one clear line for each problem, and signals; each with its status.

What can be known before `twistd` goes to the background (flags, files, keys, the port, the store's
vocabulary) is checked in `make_service`, whose ConfigError `tap` turns into lines and an exit status in the
terminal that asked. What fails later, once the reactor runs, goes through `begin`.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorCore
from twisted.logger import ILogObserver, Logger
from twisted.python.failure import Failure
from twisted.python.logfile import LogFile

from orchtw.errors import ConfigError
from orchtw.logs.lines import Line, observer, text_line
from orchtw.logs.verbosity import Verbosity

EXIT_FAILED = 1
_END_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_log = Logger()


class LogSettings(msgspec.Struct):
    """Where the log goes and how: `file` is its path, `-` standard output, empty standard error.

    `on_errors` says that it shares standard error with the lines of a failed start; `out` is what it is written to.
    """

    file: str = ""
    line: Line = text_line
    verbosity: Verbosity = msgspec.field(default_factory=Verbosity)
    on_errors: bool = False
    out: Any = None


log_settings = LogSettings()
"""Those of this process; `tap` fills them in from the flags."""


def log_as_set() -> ILogObserver:
    """Return the log, as lines; `twistd` finds it by its name (see `tap`). SIGUSR1 begins another file."""
    settings = log_settings
    out: Any = sys.__stdout__
    if not settings.file:
        out, settings.on_errors = sys.__stderr__, True
    elif settings.file != "-":
        out = LogFile.fromFullPath(settings.file)  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGUSR1, lambda *_: _rotate(out))
    settings.out = out
    return observer(out, settings.line, settings.verbosity)


def relay_log(lines: str) -> None:
    """Write lines that another process has logged where this one's go."""
    out = log_settings.out or sys.__stderr__
    if out is not None:
        out.write(lines)
        out.flush()


def _rotate(file: LogFile) -> None:
    from twisted.internet import reactor

    core: Any = reactor
    core.callFromThread(file.rotate)


def lines_of(error: BaseException) -> list[str]:
    """Return the lines of a failed start: one for each problem, each beginning with `Error: `."""
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
            _log.failure("startup failed", failure=failure)
        fail_start(reactor, error)

    return Deferred.fromCoroutine(start).addErrback(failed)


def fail_start(reactor: IReactorCore, error: BaseException) -> None:
    """Say why startup failed, stop the reactor in good order, and end the process with status 1.

    The lines go to the real standard error (`twistd` has pointed `sys.stderr` at its log) and to the log.
    """
    lines = lines_of(error)
    if sys.__stderr__ is not None:
        print(*lines, sep="\n", file=sys.__stderr__, flush=True)
    if not log_settings.on_errors:
        for line in lines:
            _log.critical("{line}", line=line)
    atexit.register(_exit_failed)
    reactor.callWhenRunning(reactor.stop)


def end_on_signals(reactor: Any) -> None:
    """Stop the reactor in good order (status 0) at the first SIGTERM or SIGINT, at once (status 1) at the next.

    `reactor` provides IReactorCore and IReactorFromThreads. Its own handlers, which would have
    `twistd` end by the signal, are replaced when it runs (reference OPS-14).
    """

    def begin_to_end(number: int, frame: FrameType | None) -> None:
        for each in _END_SIGNALS:
            signal.signal(each, lambda *_: os._exit(EXIT_FAILED))
        reactor.callFromThread(_log.info, "received {name}, shutting down", name=signal.Signals(number).name)
        reactor.callFromThread(reactor.stop)

    def install() -> None:
        for each in _END_SIGNALS:
            signal.signal(each, begin_to_end)

    reactor.callWhenRunning(install)


def reload_on_hangup(reactor: Any, reload: Callable[[], None]) -> None:
    """SIGHUP reads again what can be; it never ends the process, not even before `reload` can work."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def hang_up(number: int, frame: FrameType | None) -> None:
        reactor.callFromThread(_log.info, "received SIGHUP, reading files again")
        reactor.callFromThread(reload)

    reactor.callWhenRunning(signal.signal, signal.SIGHUP, hang_up)


def _exit_failed() -> None:
    """Set the exit status: `twistd` itself ends with 0 whenever its reactor was stopped."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.flush()
    os._exit(EXIT_FAILED)
