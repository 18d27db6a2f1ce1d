"""Connections to the servers behind APIServices."""

from __future__ import annotations

from random import Random
from typing import Any, cast

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.dialer import Dialer
from orchtw.outbound.exchange import ClientExchange, ResponseHead
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.services import Resolver, ServiceReference
from orchtw.pki import certificates
from orchtw.registry.aggregation.backends import LATE, Ask, BackendAnswer, Backends, NoAnswer
from orchtw.registry.aggregation.services import ServiceBackend
from orchtw.request import UserInfo
from tests.outbound.doubles import Cluster, Collector
from tests.outbound.test_exchanges import OK, Dialled, Line
from tests.pki.test_first_start import NOW

REFERENCE = ServiceReference(namespace="a", name="there")
OWN = ServiceReference(namespace="default", name="orch")
BACKEND = ServiceBackend(service=REFERENCE, insecure=True)
GET = Ask(method="GET", target="/x")
USER = UserInfo(name="jane")


class BackendsCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.cluster = Cluster()
        spec = {"type": "ExternalName", "externalName": "there.example.com"}
        self.cluster.services["a", "there"] = {"spec": spec}
        self.dialled: list[Dialled] = []
        self.policy = TLSPolicy()
        self.backends = self.made()

    def made(self, *, endpoints_only: bool = False) -> Backends:
        resolver = Resolver(self.cluster, OWN, Random(1))
        return Backends(resolver, lambda: self.policy, self.clock, self.dialer, endpoints_only=endpoints_only)

    def dialer(self) -> Dialer:
        self.dialled.append(Dialled())
        return cast(Dialer, self.dialled[-1])

    def begin(
        self, ask: Ask = GET, backend: ServiceBackend = BACKEND
    ) -> Deferred[tuple[ClientExchange, ResponseHead]]:
        return ensureDeferred(self.backends.ask(backend, ask))

    @property
    def lines(self) -> list[Line]:
        """The connections of the server that was dialled last."""
        return self.dialled[-1].lines

    def arrived(self, line: int = 0, data: bytes = OK) -> None:
        """Bytes of an answer."""
        protocol: Any = self.lines[line].protocol
        protocol.dataReceived(data)

    def whole(self, ask: Ask = GET) -> None:
        """A request with its whole answer, on the only connection there is."""
        waiting = self.begin(ask)
        self.arrived()
        exchange, _ = self.successResultOf(waiting)
        exchange.read_into(Collector())

    def trouble(self, waiting: Deferred[Any]) -> str:
        """Return the reason for a missing answer."""
        return str(self.failureResultOf(waiting, NoAnswer).value)


class AskTests(BackendsCase):
    def test_stale(self) -> None:
        """A read is retried when its kept connection was closed (reference AGG-11)."""
        self.whole()
        waiting = self.begin()
        self.lines[0].protocol.connectionLost(Failure(ConnectionDone()))  # type: ignore[attr-defined]
        self.assertEqual(len(self.lines), 2)
        self.arrived(1)
        self.assertEqual(self.successResultOf(waiting)[1].code, 200)

    def test_once(self) -> None:
        """A write is not asked twice, nor is anything on a fresh connection (reference AGG-11)."""
        self.whole()
        waiting = self.begin(Ask(method="POST", target="/x"))
        self.lines[0].protocol.connectionLost(Failure(ConnectionDone()))  # type: ignore[attr-defined]
        self.assertEqual(self.trouble(waiting), "EOF")
        waiting = self.begin()
        self.lines[1].protocol.connectionLost(Failure(ConnectionDone()))  # type: ignore[attr-defined]
        self.assertEqual(self.trouble(waiting), "EOF")
        self.assertEqual(len(self.lines), 2)

    def test_own_limits(self) -> None:
        """Each server has connections and limits of its own (reference AGG-11)."""
        self.begin()
        self.begin(backend=ServiceBackend(service=REFERENCE))
        self.assertEqual(len(self.dialled), 2)

    def test_another_certificate(self) -> None:
        """Connections that were made with another certificate are not used any more (reference AGG-4)."""
        self.whole()
        key = certificates.new_key()
        authority = certificates.new_authority("x", NOW)
        shown = certificates.issue(authority, key, "x", certificates.CLIENT, NOW)
        before = self.lines[0]
        self.policy = TLSPolicy(certificate=certificates.pem(shown), key=certificates.key_pem(key))
        self.begin()
        self.assertTrue(before.aborting)
        self.assertEqual(len(self.dialled), 2)

    def test_nowhere(self) -> None:
        """Services that lead nowhere and bundles that cannot be read have words (reference AGG-10)."""
        self.assertEqual(
            self.trouble(self.begin(backend=ServiceBackend(service=REFERENCE, ca_bundle=b"x"))),
            "unable to load root certificates: unable to parse bytes as PEM block",
        )
        self.backends = self.made(endpoints_only=True)
        self.assertEqual(self.trouble(self.begin()), 'unsupported service type "ExternalName"')
        self.cluster.services.clear()
        self.assertEqual(self.trouble(self.begin()), 'service "there" not found')


class GetTests(BackendsCase):
    def get(self, limit: int = 10) -> Deferred[BackendAnswer]:
        return ensureDeferred(self.backends.get(BACKEND, "/x", USER, timeout_s=5.0, limit=limit))

    def test_whole(self) -> None:
        """The server's own questions name who asks, and have whole answers (reference AGG-3)."""
        waiting = self.get()
        self.assertIn(b"X-Remote-User: jane\r\n", self.lines[0].value())
        self.arrived()
        answer = self.successResultOf(waiting)
        self.assertEqual((answer.head.code, answer.body), (200, b"ok"))

    def test_too_long(self) -> None:
        """An answer is not read beyond its limit."""
        waiting = self.get(limit=1)
        self.arrived()
        self.assertEqual(self.trouble(waiting), "the answer is larger than 1 bytes")

    def test_cut_off(self) -> None:
        """An incomplete response is an error."""
        waiting = self.get()
        self.arrived(data=OK[:-1])
        self.lines[0].protocol.connectionLost(Failure(ConnectionDone()))  # type: ignore[attr-defined]
        self.assertEqual(self.trouble(waiting), "unexpected EOF")

    def test_late(self) -> None:
        """It has to come in time (reference AGG-3)."""
        waiting = self.get()
        self.clock.advance(5)
        self.assertEqual(self.trouble(waiting), LATE)
        self.assertTrue(self.lines[0].aborting)
