"""Informers against scripted responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.deliveries import Ledger
from orchtw.commands.load.informer import RETRY_S, LoadInformer, list_version
from orchtw.commands.load.statistics import Statistics
from orchtw.outbound.exchange import ResponseHead
from tests.commands.load.test_deliveries import ADDED, GONE

LIST = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[]}'


class ScriptedBody:
    """Body with given lines; it ends after them, or stays open."""

    def __init__(self, *lines: bytes, stays: bool = False) -> None:
        self._pieces = list(lines)
        self._stays = stays

    async def next(self) -> bytes:
        """Return the next piece, empty at the end."""
        return self._pieces.pop(0) if self._pieces else b""

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield all lines that are given."""
        for each in self._pieces:
            yield each
        if self._stays:
            await Deferred()

    def drop(self) -> None:
        """Nothing is to be dropped."""


class ScriptedServer:
    """Connections with one response after another; also the requests that count failures."""

    def __init__(self, *bodies: tuple[int, ScriptedBody]) -> None:
        self.asked_for: list[str] = []
        self.failures: list[tuple[str, int]] = []
        self._bodies = list(bodies)

    async def asked(self, method: str, target: str) -> tuple[ResponseHead, ScriptedBody]:
        """Return the next response that is given."""
        self.asked_for.append(target)
        code, body = self._bodies.pop(0)
        return ResponseHead(code=code, headers=[]), body

    def failed(self, operation: str, code: int, answer: bytes) -> None:
        """Keep operation and code of a failure."""
        self.failures.append((operation, code))


class InformerTests(SynchronousTestCase):
    """Lists and watches in turn."""

    def start(self, *bodies: tuple[int, ScriptedBody]) -> Any:
        """Start an informer against these responses; returns the server."""
        server: Any = ScriptedServer(*bodies)
        self.clock, self.ledger = Clock(), Ledger()
        follower = self.ledger.follower("pods")
        self.informer = LoadInformer(
            server, server, Statistics(), follower, "/api/v1/pods", "spec.nodeName%3Da", Random(0), self.clock
        )
        self.successResultOf(Deferred.fromCoroutine(self.informer.start()))
        return server

    def stop(self) -> None:
        """Stop the informer; nothing of it is left."""
        self.successResultOf(Deferred.fromCoroutine(self.informer.stop()))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_goes_on(self) -> None:
        """A watch that ends is followed by one from the last event's version."""
        server = self.start(
            (200, ScriptedBody(LIST % 5)), (200, ScriptedBody(ADDED)), (200, ScriptedBody(stays=True))
        )
        versions = [target.partition("resourceVersion=")[2] for target in server.asked_for]
        self.assertEqual([each.partition("&")[0] for each in versions], ["0", "5", "7"])
        self.assertIn("allowWatchBookmarks=true", server.asked_for[1])
        self.assertTrue(all(target.endswith("&fieldSelector=spec.nodeName%3Da") for target in server.asked_for))
        self.assertEqual((self.ledger.counts.events, server.failures), (1, []))
        self.stop()

    def test_expired(self) -> None:
        """After a 410 it lists again; that is not an error."""
        server = self.start(
            (200, ScriptedBody(LIST % 5)), (200, ScriptedBody(GONE)), (200, ScriptedBody(LIST % 9)),
            (200, ScriptedBody(stays=True)),
        )  # fmt: skip
        self.clock.advance(RETRY_S)
        self.assertEqual((len(server.asked_for), self.ledger.counts.relists, server.failures), (4, 1, []))
        self.stop()

    def test_refused(self) -> None:
        """A refused list is counted, and repeated after a while."""
        server = self.start(
            (403, ScriptedBody(b"{}")), (200, ScriptedBody(LIST % 5)), (200, ScriptedBody(stays=True))
        )
        self.assertEqual(server.failures, [("list pods", 403)])
        self.stop()

    def test_list_version(self) -> None:
        """The version is at the beginning of a list."""
        self.assertEqual(list_version(LIST % 12), 12)
        self.assertIsNone(list_version(b'{"kind":"Status"}'))
