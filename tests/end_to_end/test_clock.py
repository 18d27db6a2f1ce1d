"""Steps of the wall clock, an hour back and an hour forward, under a server that works (reference LIMIT-15)."""

from __future__ import annotations

import socket
import time
from datetime import datetime
from pathlib import Path

from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from tests.end_to_end.case import reactor
from tests.end_to_end.client import PATIENCE_S, Client, Watch, tls_context
from tests.end_to_end.stepped import SteppedServer

HOUR_S = 3600.0
SLACK_S = 600.0  # tells an hour from none, however slow the machine is
PATH = "/api/v1/namespaces/default/configmaps"


class SteppedClockTests(TestCase):
    """Each test sets the clock while watches, limits and timers run. What hangs is found by the client's patience."""

    timeout = 300
    step_s = -HOUR_S

    async def setUp(self) -> None:  # type: ignore[override]
        tokens = Path(self.mktemp())
        tokens.write_text('token,admin,1,"system:masters"\n')
        tokens.chmod(0o600)
        self.server = SteppedServer(
            reactor,
            self.mktemp(),
            "--tls-handshake-timeout=2s",
            f"--token-auth-file={tokens.absolute()}",
            "--controllers=*,-root-ca-cert-publisher",  # config maps beside those of the tests
        )
        await self.server.start()
        self.addCleanup(self.server.kill9)
        # By token: an hour ago the administrator's certificate was not valid yet.
        context = tls_context(self.server.kubeconfig, certificate=False)
        self.client = Client(self.server.port, context, {"Authorization": "Bearer token"})
        self.addCleanup(self.client.close)

    async def written(self, name: str) -> datetime:
        """Write an object; returns its creation time."""
        answer = await self.client.post(PATH, {"metadata": {"name": name}})
        self.assertEqual(answer.code, 201, answer)
        return datetime.fromisoformat(answer.json["metadata"]["creationTimestamp"])

    async def seen(self, watch: Watch, name: str) -> None:
        """The watch's next event is the creation of that object."""
        self.assertEqual(await watch.types(1), [("ADDED", name)])

    async def test_watches_go_on(self) -> None:
        """Writes are acknowledged and reach the watchers from before, between and after; stamps follow the clock."""
        version = (await self.client.get(PATH)).version
        path = f"{PATH}?watch=1&timeoutSeconds=600&resourceVersion={version}"
        watch = await self.client.watch(path)
        for number, offset_s in enumerate((0.0, self.step_s, 0.0)):
            self.server.set_clock(offset_s)
            created = await self.written(f"object-{number}")
            await self.seen(watch, f"object-{number}")
            self.assertLess(abs(created.timestamp() - time.time() - offset_s), SLACK_S)
        later = await self.client.watch(path)
        self.assertEqual(len(await later.events(3)), 3)

    async def test_watches_end(self) -> None:
        """A watch of two seconds ends by itself, whether it began before the step or after it."""
        before = await self.client.watch(f"{PATH}?watch=1&timeoutSeconds=2")
        self.server.set_clock(self.step_s)
        after = await self.client.watch(f"{PATH}?watch=1&timeoutSeconds=2")
        self.assertEqual([(watch.code, await watch.rest()) for watch in (before, after)], [(200, [])] * 2)

    async def test_deadlines(self) -> None:
        """A read that waits for a version is told when its time is up; a client that says nothing is dropped."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE_S) as silent:
            self.server.set_clock(self.step_s)
            answer = await self.client.get(f"{PATH}?resourceVersion=1000000")
            self.assertEqual((answer.code, answer.json["reason"]), (504, "Timeout"))
            self.assertEqual(await deferToThread(_end_of, silent), "dropped")


class SteppedForwardTests(SteppedClockTests):
    """The same with an hour forward: nothing is over before its time."""

    step_s = HOUR_S


def _end_of(connection: socket.socket) -> str:
    """Return how an idle connection ends; TimeoutError if it does not."""
    try:
        return "answered" if connection.recv(1) else "dropped"
    except ConnectionResetError:
        return "dropped"
