"""Starts and ends of the real process (DESIGN, command-line contract; supplement G1, G4)."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess, StartFailed
from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.client import Answer, Client, tls_context


class ProcessCase(TestCase):
    """Tests with servers of their own."""

    timeout = 60

    def server(self, *flags: str, folder: str = "") -> ServerProcess:
        """A server that is yet to be started; killed after the test if it still runs."""
        server = ServerProcess(reactor, folder or self.mktemp(), *flags)
        self.addCleanup(server.kill9)
        return server

    def client(self, server: ServerProcess) -> Client:
        """A client with the administrator's certificate."""
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        return client

    async def refusal(self, server: ServerProcess) -> str:
        """The one line with which a start is refused."""
        error = await self.assertFailure(_start(server), StartFailed)
        self.assertEqual((error.status, error.output), (1, ""))
        self.assertNotIn("Traceback", error.errors + server.log)
        lines = error.errors.splitlines()
        self.assertEqual(len(lines), 1, error.errors)
        return str(lines[0])


async def _start(server: ServerProcess) -> None:
    await server.start()
