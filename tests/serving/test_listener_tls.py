"""TLS as clients of the listener see it: versions, their certificates."""

from __future__ import annotations

import socket
import ssl
from functools import partial

from cryptography import x509
from cryptography.x509 import Certificate
from cryptography.x509.oid import NameOID
from twisted.internet import reactor
from twisted.internet.task import deferLater

from orchtw.errors import ConfigError
from orchtw.request import Peer
from orchtw.serving.tls_context import TLSOptions
from tests.serving.authorities import (
    CLIENT,
    PATIENCE_S,
    SERVER,
    Identity,
    connect,
    read_to_end,
)
from tests.serving.listening import LAST, ListenerTestCase


class ClientCertificateTests(ListenerTestCase):
    async def peer_of(self, pem: bytes) -> Peer:
        answer = await self.exchange(LAST % b"x", self.context(pem))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 OK\r\n"))
        return self.peers[-1]

    async def test_none(self) -> None:
        """A client without a certificate is served; there is none to see (reference DESIGN-13)."""
        peer = await self.peer_of(b"")
        self.assertEqual((peer.address, peer.certificate, peer.verified), ("127.0.0.1", None, False))

    async def test_trusted(self) -> None:
        """A certificate of the configured CA is verified and its subject readable (reference AUTHN-12)."""
        peer = await self.peer_of(Identity("alice", self.ca, usage=CLIENT).pem())
        assert isinstance(peer.certificate, Certificate)
        (name,) = peer.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        self.assertEqual((name.value, peer.verified), ("alice", True))

    async def test_not_trusted(self) -> None:
        """Certificates of a stranger, out of date or for another purpose are seen, never verified
        (reference AUTHN-14).
        """
        stranger = Identity("ca", is_ca=True)
        cases = {
            "stranger": Identity("alice", stranger),
            "self-signed": Identity("alice"),
            "expired": Identity("alice", self.ca, expired=True),
            "server's purpose": Identity("alice", self.ca, usage=SERVER),
            "issued by a leaf": Identity("alice", Identity("bob", self.ca)),
        }
        for name, identity in cases.items():
            peer = await self.peer_of(identity.pem())
            self.assertEqual((peer.certificate, peer.verified), (identity.certificate, False), name)

    async def test_intermediate(self) -> None:
        """A chain that the client completes is verified; without its intermediate it is not."""
        middle = Identity("middle", self.ca, is_ca=True)
        leaf = Identity("alice", middle, usage=CLIENT)
        self.assertTrue((await self.peer_of(leaf.pem(middle))).verified)
        self.assertFalse((await self.peer_of(leaf.pem())).verified)

    async def test_shared(self) -> None:
        """Connections with the same certificate share one parsed object, which is what an idle watch can afford."""
        pem = Identity("alice", self.ca).pem()
        first, second = await self.peer_of(pem), await self.peer_of(pem)
        self.assertIs(first.certificate, second.certificate)

    async def test_resumption(self) -> None:
        """A resumed session has the user of the first one, verified as then (reference AUTHN-15)."""
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.context(Identity("alice", self.ca).pem())
            context.maximum_version = version

            def twice(context: ssl.SSLContext = context) -> bool | None:
                with connect(self.listener.port, context) as client:
                    client.sendall(LAST % b"x")
                    read_to_end(client)
                    session = client.session
                plain = socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S)
                with context.wrap_socket(plain, session=session) as client:
                    client.sendall(LAST % b"x")
                    read_to_end(client)
                    return client.session_reused

            self.assertTrue(await self.away(twice))
            first, second = self.peers[-2:]
            self.assertEqual((first.verified, second.verified), (True, True))
            self.assertIs(first.certificate, second.certificate)

    async def test_distrust_in_handshake(self) -> None:
        """A handshake under the old authorities has to be repeated (AUTHN-55)."""
        with socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S) as client:
            while not self.listener.edge.channels:
                await deferLater(reactor, 0.01)
            self.listener.edge.distrust()
            try:
                received = await self.away(partial(client.recv, 1))
            except ConnectionResetError:
                received = b""
            self.assertEqual(received, b"")

    async def test_distrust(self) -> None:
        """Connections of clients that were verified end when an authority is gone; others stay (AUTHN-55)."""
        first = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
        clients = []
        for pem in (Identity("alice", self.ca).pem(), b""):
            client = await self.away(partial(connect, self.listener.port, self.context(pem)))
            client.sendall(first)
            self.assertTrue((await self.away(partial(client.recv, 4096))).endswith(b"/x"))
            clients.append(client)
        self.listener.edge.distrust()
        self.assertEqual(await self.away(partial(read_to_end, clients[0])), b"")
        clients[1].sendall(LAST % b"y")
        self.assertTrue((await self.away(partial(read_to_end, clients[1]))).endswith(b"/y"))
        for client in clients:
            client.close()


class TLSTests(ListenerTestCase):
    async def test_versions(self) -> None:
        """TLS 1.2 and 1.3 are spoken, 1.1 is refused (reference REQ-25)."""
        for version, expected in (("TLSv1_1", False), ("TLSv1_2", True), ("TLSv1_3", True)):
            context = self.context()
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion[version]
            try:
                answer = await self.exchange(LAST % b"x", context)
            except ssl.SSLError:
                answer = b""
            self.assertEqual(answer.endswith(b"/x"), expected, version)

    async def test_minimum(self) -> None:
        """`VersionTLS13` refuses TLS 1.2."""
        self.tls.reload(self.options(self.server, min_version="VersionTLS13"))
        context = self.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.assertRaises(ssl.SSLError):
            await self.exchange(LAST % b"x", context)

    async def test_cipher_suites(self) -> None:
        """Of TLS 1.2 only the chosen suites are spoken."""
        suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
        self.tls.reload(self.options(self.server, cipher_suites=(suite,)))
        context = self.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        client = await self.away(lambda: connect(self.listener.port, context))
        cipher = client.cipher()
        client.close()
        self.assertEqual(cipher and cipher[0], "ECDHE-ECDSA-AES256-GCM-SHA384")

    async def test_alpn(self) -> None:
        """A listener without HTTP/2 chooses http/1.1; other offers are passed over (reference DESIGN-11)."""
        for offered, expected in ((["h2", "http/1.1"], "http/1.1"), (["h2"], None)):
            context = self.context(alpn=offered)
            client = await self.away(lambda context=context: connect(self.listener.port, context))  # type: ignore[misc]
            chosen = client.selected_alpn_protocol()
            client.close()
            self.assertEqual(chosen, expected)

    async def test_garbage(self) -> None:
        """Data that is neither TLS nor HTTP is dropped without a line in the log."""

        def talk() -> bytes:
            with socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S) as client:
                client.sendall(b"\x00garbage" * 10)
                try:
                    while client.recv(1000):
                        pass
                except ConnectionResetError:
                    return b"reset"
                return b"closed"

        self.assertIn(await self.away(talk), (b"reset", b"closed"))

    async def test_reload(self) -> None:
        """After a reload new connections see the new certificate, old ones live on; a bad reload changes nothing."""
        other = Identity("other", self.ca)
        context = self.context()
        old = await self.away(lambda: connect(self.listener.port, context))
        self.tls.reload(self.options(other))
        with self.assertRaises(ConfigError):
            self.tls.reload(TLSOptions(certificates=(other.certificate,), key=self.server.key))
        new = await self.away(lambda: connect(self.listener.port, context))
        shown = [x509.load_der_x509_certificate(client.getpeercert(True) or b"") for client in (old, new)]
        new.close()
        self.assertEqual(shown, [self.server.certificate, other.certificate])

        def finish() -> bytes:
            with old:
                old.sendall(LAST % b"old")
                return read_to_end(old)

        self.assertTrue((await self.away(finish)).endswith(b"/old"))
