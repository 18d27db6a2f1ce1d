"""`ServerProcess` with a program of the tests' own in the server's place."""

from __future__ import annotations

import os
import sys
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, TimeoutError
from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess, environment
from orchtw.testing.start_failed import StartFailed

reactor: Any = installed_reactor

LINE = "https://127.0.0.1:40123 /x/admin.kubeconfig"
SERVES = f"trap 'exit 0' TERM; echo 'a warning' >&2; echo '{LINE}'; while :; do sleep 0.01; done"
STUBBORN = f"trap '' TERM; echo '{LINE}'; while :; do sleep 0.01; done"


class Scripted(ServerProcess):
    """A shell script instead of twistd."""

    script = SERVES

    def _command(self) -> tuple[str, ...]:
        return ("/bin/sh", "-c", self.script)


class ServerProcessTests(TestCase):
    def server(self, script: str = SERVES, limit_s: float = 60.0) -> Scripted:
        """A server that is yet to be started."""
        server = Scripted(reactor, self.mktemp(), limit_s=limit_s)
        server.script = script
        self.addCleanup(server.kill9)
        return server

    async def test_start_and_end(self) -> None:
        """A start returns once the line is there, which says where the server is; SIGTERM ends it with status 0."""
        server = self.server()
        self.assertEqual((server.running, server.pid, server.port), (False, 0, 0))
        await server.start()
        self.assertEqual((server.address, server.port), ("https://127.0.0.1:40123", 40123))
        self.assertTrue(server.running and server.pid)
        self.assertEqual(await server.terminate(), 0)
        self.assertFalse(server.running)
        self.assertEqual(server.errors, "a warning\n")

    async def test_again(self) -> None:
        """A server that has ended can be started again, one that runs cannot."""
        server = self.server()
        await server.start()
        await self.assertFailure(Deferred.fromCoroutine(server.start()), RuntimeError)
        self.assertEqual(await server.kill9(), -9)
        await server.start()
        self.assertTrue(server.running)

    async def test_refused_start(self) -> None:
        """A process that ends before it serves reports its status, output and errors."""
        server = self.server("echo partial | tr -d '\\n'; echo why >&2; exit 3")
        failed: Any = await self.assertFailure(Deferred.fromCoroutine(server.start()), StartFailed)
        self.assertEqual((failed.status, failed.output, failed.errors), (3, "partial", "why\n"))
        self.assertFalse(server.running)

    async def test_hanging_start(self) -> None:
        """A start that says nothing for too long is ended."""
        server = self.server("exec sleep 600", limit_s=0.05)
        await self.assertFailure(Deferred.fromCoroutine(server.start()), TimeoutError)
        server._limit_s = 60.0
        self.assertEqual(await server.ended(), -9)

    async def test_hanging_end(self) -> None:
        """So is it said of an end that does not come, after which the process may still be killed."""
        server = self.server(STUBBORN)
        await server.start()
        server._limit_s = 0.05
        await self.assertFailure(Deferred.fromCoroutine(server.terminate()), TimeoutError)
        server._limit_s = 60.0
        self.assertEqual(await server.kill9(), -9)

    async def test_nothing_to_end(self) -> None:
        """A server that was never started, or has ended, needs no end."""
        server = self.server()
        self.assertEqual(await server.terminate(), 0)
        await server.start()
        await server.kill9()
        self.assertEqual(await server.terminate(), -9)

    def test_environment(self) -> None:
        """A child finds the same orchtw, before whatever else is on the path."""
        self.patch(os, "environ", {"PYTHONPATH": "/mine", "A": "b"})
        found = environment()
        first, *others = found["PYTHONPATH"].split(os.pathsep)
        self.assertTrue(os.path.isfile(f"{first}/orchtw/__init__.py"))
        self.assertEqual((others, found["A"]), (["/mine"], "b"))

    def test_command(self) -> None:
        """The server is twistd's in the same interpreter, on a free port unless the flags name one."""
        for flags, ports in (((), ["--secure-port=0"]), (("--secure-port=7",), ["--secure-port=7"])):
            command = ServerProcess(reactor, "data", *flags)._command()
            self.assertEqual(command[0], sys.executable)
            self.assertEqual([word for word in command if word.startswith("--secure-port")], ports)
            self.assertIn(f"--data-dir={os.path.abspath('data')}", command)
