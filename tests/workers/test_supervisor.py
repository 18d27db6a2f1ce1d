"""End of workers by their owner, and signals that they ignore (reference OPS-29)."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any
from unittest import mock

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.worker import _ignore_end_signals
from orchtw.workers.supervisor import _Slot


class EndTests(SynchronousTestCase):
    def ended(self, *, admitted: bool) -> tuple[Any, Any]:
        """The server and the process of a worker that is told to end."""
        server, process = mock.Mock(admitted=admitted), mock.Mock()
        workers: Any = SimpleNamespace(_reactor=Clock(), ending=True, begin=lambda slot, port: (server, process))
        slot = _Slot(workers, 1, 6443)
        slot.start()
        slot.end()
        server.end.assert_called_once_with()
        slot.exited("status 0")
        self.successResultOf(slot.gone)
        return server, process

    def test_serving(self) -> None:
        """A worker that serves ends in good order (reference OPS-29)."""
        self.assertEqual(self.ended(admitted=True)[1].signal.mock_calls, [])

    def test_loading(self) -> None:
        """One that is being loaded, and would hear of it when it has been, is not waited for (reference OPS-29)."""
        self.assertEqual(self.ended(admitted=False)[1].signal.mock_calls, [mock.call("KILL")])


class SignalTests(SynchronousTestCase):
    def test_of_the_owner(self) -> None:
        """Signals that are sent to all processes of a server end no worker (reference OPS-29)."""
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            self.addCleanup(signal.signal, each, signal.getsignal(each))
        _ignore_end_signals()
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            self.assertIs(signal.getsignal(each), signal.SIG_IGN)
