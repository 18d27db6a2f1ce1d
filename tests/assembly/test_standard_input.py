"""`--stop-at-eof`: the end of the process with that of its standard input."""

from __future__ import annotations

import os
import subprocess
import sys

from twisted.internet.error import ReactorNotRunning
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.standard_input import GRACE_S, stop_at_end_of_input
from orchtw.testing.process import LIMIT_S, environment


class FakeReactor:
    """Reactor that does at once what threads ask for."""

    def __init__(self, *, stops: bool = True) -> None:
        self.stopped = 0
        self._stops = stops

    def callFromThread(self, work: object, *arguments: object) -> None:
        assert callable(work)
        work(*arguments)

    def stop(self) -> None:
        if not self._stops:
            raise ReactorNotRunning
        self.stopped += 1


class EndOfInputTests(SynchronousTestCase):
    def ended(self, *pieces: bytes | OSError, reactor: FakeReactor, delay_s: float = 0.0) -> list[float]:
        """Read these pieces to the end; returns the time of the shutdown and the exit status."""
        left, seen = list(pieces), list[float]()

        def read() -> bytes:
            piece = left.pop(0)
            if isinstance(piece, OSError):
                raise piece
            return piece

        stop_at_end_of_input(reactor, delay_s, read=read, sleep=seen.append, leave=seen.append).join()
        self.assertEqual(left, [])
        return seen

    def test_end(self) -> None:
        """Input is ignored; its end stops the reactor, and later the process, with status 1."""
        reactor = FakeReactor()
        self.assertEqual(self.ended(b"x", b"y\n", b"", reactor=reactor), [GRACE_S, 1])
        self.assertEqual(reactor.stopped, 1)

    def test_error(self) -> None:
        """An input that cannot be read has ended."""
        reactor = FakeReactor()
        self.ended(OSError(5, "gone"), reactor=reactor)
        self.assertEqual(reactor.stopped, 1)

    def test_delay(self) -> None:
        """The delay that was asked for is part of the shutdown."""
        self.assertEqual(self.ended(b"", reactor=FakeReactor(), delay_s=5), [5 + GRACE_S, 1])

    def test_after_a_signal(self) -> None:
        """A reactor that stops already is left alone."""
        self.ended(b"", reactor=FakeReactor(stops=False))


class ProcessTests(SynchronousTestCase):
    """A real server whose input is empty."""

    def run_server(self, *flags: str) -> subprocess.CompletedProcess[str]:
        """Run a server whose input is empty."""
        folder = self.mktemp()
        os.mkdir(folder)
        command = (sys.executable, "-c", "from twisted.scripts.twistd import run; run()", *flags)
        return subprocess.run(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def test_graceful(self) -> None:
        """A server whose input ends shuts down in good order, with status 0 (reference OPS-30)."""
        done = self.run_server("-n", "--pidfile=", "orch-apiserver", "--secure-port=0", "--stop-at-eof")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("standard input has ended, shutting down", done.stderr)

    def test_background(self) -> None:
        """In the background, where there is no input, the flag is refused (reference OPS-30)."""
        done = self.run_server("orch-apiserver", "--secure-port=0", "--stop-at-eof")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "Error: --stop-at-eof: only in the foreground (twistd --nodaemon)\n")
