"""Real connections on this machine: TLS of every kind, and the texts of failures."""
# covers: orchtw.outbound.tls

from __future__ import annotations

from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from twisted.internet import defer
from twisted.internet import reactor as installed_reactor
from twisted.internet.address import IPv4Address
from twisted.internet.protocol import Factory, Protocol
from twisted.trial.unittest import TestCase

from orchtw.errors import ConfigError, TooManyRequests
from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import AddressNotAllowed, Dialer, Unreachable
from orchtw.outbound.exchange import ClientExchange
from orchtw.outbound.tls import ClientTLS
from tests.end_to_end.agent_case import LOOPBACK, agent_pki
from tests.end_to_end.node_agent import NodeAgent

reactor: Any = installed_reactor


def client_tls() -> ClientTLS:
    """Return the TLS settings that the flags would give."""
    folder = agent_pki().folder
    return ClientTLS(
        certificates=tuple(x509.load_pem_x509_certificates((folder / "client.crt").read_bytes())),
        key=load_pem_private_key((folder / "client.key").read_bytes(), None),
        authorities=(agent_pki().agents.certificate,),
    )


class DialerCase(TestCase):
    """An agent to dial."""

    tls = True

    def setUp(self) -> None:
        self.agent = NodeAgent(reactor, agent_pki().options() if self.tls else None)
        self.addCleanup(lambda: defer.Deferred.fromCoroutine(self.agent.stop()))
        self.dialer = Dialer(reactor)
        self.there = Destination(
            scheme="https", host=LOOPBACK, port=self.agent.port, tls=client_tls(), timeout_s=5.0
        )

    async def dial(self, destination: Destination) -> ClientExchange:
        return await self.dialer.exchange(destination, lambda: ClientExchange(tls=destination.scheme == "https"))

    async def code(self, destination: Destination) -> int:
        """Return the status code of a response."""
        exchange = await self.dial(destination)
        head = await exchange.ask("GET", "/x", [("Host", "a")])
        exchange.abort()
        return head.code

    async def trouble(self, destination: Destination) -> str:
        """Return the reason for a failed connection."""
        try:
            await self.dial(destination)
        except Unreachable as problem:
            return str(problem)
        raise AssertionError("there is a connection")


class TLSTests(DialerCase):
    """TLS to node agents (reference PROXY-2)."""

    async def test_verified(self) -> None:
        """The agent is verified by its authority and address, and sees our certificate."""
        self.assertEqual(await self.code(self.there), 200)
        self.assertEqual(self.agent.asked[-1].user, "the-client")

    async def test_anybody(self) -> None:
        """Without an authority any certificate is accepted, and ours is still shown."""
        unverified = self.there.tls.unverified
        self.assertEqual(await self.code(msgspec.structs.replace(self.there, tls=unverified)), 200)
        self.assertEqual(self.agent.asked[-1].user, "the-client")

    async def test_other_authority(self) -> None:
        """A certificate of another authority is refused, with nothing sent."""
        tls = msgspec.structs.replace(self.there.tls, authorities=(agent_pki().clients.certificate,))
        words = await self.trouble(msgspec.structs.replace(self.there, tls=tls))
        self.assertEqual(words, "x509: certificate signed by unknown authority")
        self.assertEqual(self.agent.asked, [])

    async def test_other_host(self) -> None:
        """A certificate for another host is refused."""
        words = await self.trouble(msgspec.structs.replace(self.there, host="localhost"))
        self.assertEqual(words, "x509: certificate is not valid for any names, but wanted to match localhost")

    async def test_plain_server(self) -> None:
        """A server that speaks no TLS says so."""
        plain = NodeAgent(reactor, None)
        try:
            words = await self.trouble(msgspec.structs.replace(self.there, port=plain.port))
        finally:
            await plain.stop()
        self.assertTrue(words.startswith(("tls: ", "EOF")), words)

    def test_key_of_another(self) -> None:
        """A key that does not match its certificate is an error at the start."""
        other = load_pem_private_key((agent_pki().folder / "agent.key").read_bytes(), None)
        for tls in (
            msgspec.structs.replace(client_tls(), key=other),
            msgspec.structs.replace(client_tls(), key=other).unverified,
        ):
            self.assertRaises(ConfigError, tls.creator, "a")


class WordsTests(DialerCase):
    """Texts of failures (reference PROXY-14)."""

    tls = False

    async def test_plain(self) -> None:
        """HTTP works as well."""
        self.assertEqual(await self.code(msgspec.structs.replace(self.there, scheme="http")), 200)

    async def test_refused(self) -> None:
        """A closed port is reported as a refused connection."""
        words = await self.trouble(msgspec.structs.replace(self.there, scheme="http", port=1))
        self.assertEqual(words, "dial tcp 127.0.0.1:1: connect: connection refused")

    async def test_late(self) -> None:
        """A server that accepts and stays silent."""
        silent = reactor.listenTCP(0, Factory.forProtocol(Protocol), interface=LOOPBACK)
        self.addCleanup(silent.stopListening)
        words = await self.trouble(msgspec.structs.replace(self.there, port=silent.getHost().port, timeout_s=0.2))
        self.assertEqual(words, "net/http: TLS handshake timeout")
        self.assertEqual(self.dialer._open, 0)

    def test_given_up(self) -> None:
        """Cancelling while connecting raises CancelledError, not a failure of the other side."""
        begun = defer.Deferred.fromCoroutine(self.dial(self.there))
        begun.cancel()
        self.failureResultOf(begun, defer.CancelledError)

    async def test_addresses(self) -> None:
        """Where only pods and nodes may be dialled this machine is not, by name or address (reference PROXY-13)."""
        for host in (LOOPBACK, "localhost", "::1"):
            with self.assertRaises(AddressNotAllowed):
                await self.dial(msgspec.structs.replace(self.there, scheme="http", host=host, public=True))
        self.assertEqual(self.agent.connections, set())

    async def test_names(self) -> None:
        """A name that nobody has; one with several addresses, of which the first cannot be reached."""

        class Resolver:
            def resolveHostName(self, receiver: Any, host: str, *_rest: Any) -> None:
                receiver.resolutionBegan(None)
                for address in ("127.0.0.2", LOOPBACK) if host == "two" else ():
                    receiver.addressResolved(IPv4Address("TCP", address, 0))
                receiver.resolutionComplete()

        self.addCleanup(reactor.installNameResolver, reactor.installNameResolver(Resolver()))
        nobody = msgspec.structs.replace(self.there, scheme="http", host="nobody")
        self.assertEqual(await self.trouble(nobody), "dial tcp: lookup nobody: no such host")
        self.assertEqual(await self.code(msgspec.structs.replace(nobody, host="two")), 200)

    async def test_no_names(self) -> None:
        """An invalid host name is not looked up, as node addresses may be any text."""
        for host in ("a b", "a..b", "x" * 64, "a." * 128, "a\0b", "\u00fc", "", "-\r\nX: y"):
            words = await self.trouble(msgspec.structs.replace(self.there, host=host))
            self.assertEqual(words, f"dial tcp: lookup {host[:100]}: no such host")

    async def test_many(self) -> None:
        """So many at a time; each that ends makes room (reference PROXY-18)."""
        self.dialer = Dialer(reactor, most=2)
        there = msgspec.structs.replace(self.there, scheme="http")
        first, second = await self.dial(there), await self.dial(there)
        with self.assertRaises(TooManyRequests):
            await self.dial(there)
        first.abort()
        third = await self.dial(there)
        for each in (second, third):
            each.abort()
        self.assertEqual(self.dialer._open, 0)
