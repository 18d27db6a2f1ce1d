"""Ends of the process: failed starts, signals, and reloads, without a process (reference OPS-14)."""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly import start
from orchtw.errors import ConfigError


class EndingReactor(MemoryReactorClock):
    """Counts its stops, and runs at once what comes from threads."""

    def __init__(self) -> None:
        super().__init__()
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1

    def callFromThread(self, function: Callable[..., Any], *args: Any, **more: Any) -> None:
        function(*args, **more)

    def begin(self) -> None:
        """Do what is to be done when it runs."""
        for function, args, more in self.whenRunningHooks:
            function(*args, **more)


class StartCase(SynchronousTestCase):
    """Signals, the end of the process and standard error are the test's."""

    def setUp(self) -> None:
        self.reactor = EndingReactor()
        self.handlers: dict[int, Any] = {}
        self.ends: list[int] = []
        self.at_exit: list[Callable[[], None]] = []
        self.errors = io.StringIO()
        self.patch(signal, "signal", self.handlers.__setitem__)
        self.patch(os, "_exit", self.ends.append)
        self.patch(atexit, "register", self.at_exit.append)
        self.patch(sys, "__stderr__", self.errors)
        self.patch(start, "log_settings", start.LogSettings())


class FailedStartTests(StartCase):
    def fail(self, error: BaseException) -> Sequence[Any]:  # type: ignore[override]
        """A start that fails; the events that are logged."""

        async def failing() -> None:
            raise error

        with capturedLogs() as logged:
            ended: Deferred[None] = start.begin(self.reactor, failing())
            self.assertIsNone(self.successResultOf(ended))
        return logged

    def test_lines(self) -> None:
        """Every problem is a line on the real standard error and in the log; the reactor stops, status 1."""
        logged = self.fail(ConfigError("one\ntwo", "three"))
        self.assertEqual(self.errors.getvalue(), "Error: one two\nError: three\n")
        self.assertEqual([formatEvent(each) for each in logged], ["Error: one two", "Error: three"])
        self.assertEqual({each["log_level"] for each in logged}, {LogLevel.critical})
        self.reactor.begin()
        self.assertEqual((self.reactor.stops, self.ends), (1, []))
        for function in self.at_exit:
            function()
        self.assertEqual(self.ends, [start.EXIT_FAILED])

    def test_own_fault(self) -> None:
        """A failure of the server's own is logged with its traceback."""
        logged = self.fail(ZeroDivisionError("x"))
        self.assertEqual(self.errors.getvalue(), "Error: ZeroDivisionError: x\n")
        self.assertEqual(len([each for each in logged if "log_failure" in each]), 1)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_log_on_standard_error(self) -> None:
        """Lines are not duplicated when the log goes to standard error too."""
        start.log_as_set()
        self.assertEqual(list(self.fail(ConfigError("one"))), [])
        self.assertEqual(self.errors.getvalue(), "Error: one\n")

    def test_without_standard_error(self) -> None:
        """A process without standard error fails as well."""
        self.patch(sys, "__stderr__", None)
        self.fail(ConfigError("one"))
        self.reactor.begin()
        self.assertEqual(self.reactor.stops, 1)


class SignalTests(StartCase):
    def send(self, number: int) -> None:
        """Have the process get a signal."""
        self.handlers[number](number, None)

    def test_first(self) -> None:
        """The first SIGTERM or SIGINT stops the reactor in good order, and says so."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self.reactor = EndingReactor()
            start.end_on_signals(self.reactor)
            self.reactor.begin()
            with capturedLogs() as logged:
                self.send(number)
            self.assertEqual(formatEvent(logged[0]), f"received {number.name}, shutting down")
            self.assertEqual((self.reactor.stops, self.ends), (1, []))

    def test_second(self) -> None:
        """The next one, of either kind, ends the process at once with status 1."""
        start.end_on_signals(self.reactor)
        self.reactor.begin()
        self.send(signal.SIGTERM)
        self.send(signal.SIGINT)
        self.assertEqual((self.reactor.stops, self.ends), (1, [start.EXIT_FAILED]))

    def test_not_before_the_reactor_runs(self) -> None:
        """The handlers replace the reactor's own, so that they are installed after those."""
        start.end_on_signals(self.reactor)
        self.assertEqual(self.handlers, {})

    def test_hang_up(self) -> None:
        """SIGHUP reloads files; before reloading is possible it is ignored, and it never ends the process."""
        reloads: list[str] = []
        start.reload_on_hangup(self.reactor, lambda: reloads.append("read"))
        self.assertIs(self.handlers[signal.SIGHUP], signal.SIG_IGN)
        self.reactor.begin()
        for _ in range(2):
            self.send(signal.SIGHUP)
        self.assertEqual((reloads, self.reactor.stops, self.ends), (["read", "read"], 0, []))
