"""Choice of the certificate by the name that a client asks for (reference REQ-26)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from orchtw.pki import certificates
from orchtw.serving.server_names import NamedPair, ServerNames, own_names
from orchtw.serving.tls_context import ServingTLS, TLSOptions
from tests.serving.test_tls_context import client_of, joined

NOW = datetime.now(UTC)
AUTHORITY = certificates.new_authority("serving", NOW)
CLIENTS = certificates.new_authority("clients", NOW)


def pair(*hosts: str, names: tuple[str, ...] = ()) -> NamedPair:
    """A pair whose certificate is for these hosts, the first its common name."""
    key = certificates.new_key()
    shown = certificates.issue(AUTHORITY, key, hosts[0], certificates.SERVER, NOW, hosts=hosts)
    return NamedPair(certificates=(shown,), key=key, names=names)


class ServerNamesTests(SynchronousTestCase):
    """`ServerNames`, with texts in place of contexts."""

    def test_own_names(self) -> None:
        """Without names a pair is for its certificate's common name, DNS names and addresses."""
        self.assertEqual(set(own_names(pair("A.example", "b.example", "10.0.0.1"))), {
            "a.example", "b.example", "10.0.0.1"
        })

    def test_order(self) -> None:
        """Exact names go before patterns, given names before those of certificates, the first pair before others."""
        names = ServerNames([
            (pair("a.example", "*.example"), "own"),
            (pair("a.example"), "later"),
            (pair("x", names=("b.example", "*.*.example")), "given"),
            (pair("x", names=("own.example",)), "exact"),
            (pair("own.example"), "hidden"),
        ])
        found = {name: names.find(name) for name in ("A.example.", "b.example", "c.example", "d.c.example", "x", "")}
        self.assertEqual(found, {
            "A.example.": "own", "b.example": "given", "c.example": "own", "d.c.example": "given", "x": None, "": None
        })
        self.assertEqual(names.find("own.example"), "exact")

    def test_long_names(self) -> None:
        """A name of very many labels matches no certificate."""
        self.assertIsNone(ServerNames([(pair("*.example"), "own")]).find("a." * 100_000 + "example"))


class HandshakeTests(SynchronousTestCase):
    """The same in handshakes, with client certificates."""

    def setUp(self) -> None:
        default, self.named = pair("default.example"), pair("a.example")
        self.tls = ServingTLS(TLSOptions(
            certificates=default.certificates,
            key=default.key,
            client_cas=(CLIENTS.certificate,),
            named=(self.named,),
        ))
        self.default = default

    def shake(self, name: bytes) -> tuple[Any, Any]:
        """The server's end, and the certificate that the client sees."""
        key = certificates.new_key()
        shown = certificates.issue(CLIENTS, key, "ann", certificates.CLIENT, NOW)
        near, far = SSL.Connection(self.tls.context), SSL.Connection(client_of(shown, key=key))
        if name:
            far.set_tlsext_host_name(name)
        server = joined(near, far)
        return server, far.get_peer_certificate(as_cryptography=True)

    def test_chosen(self) -> None:
        """The name decides on the certificate, and not on who the client is."""
        for name, expected in ((b"a.example", self.named), (b"b.example", self.default), (b"", self.default)):
            server, seen = self.shake(name)
            self.assertEqual(seen, expected.certificates[0])
            found, verified = self.tls.identity_of(server)
            self.assertTrue(found is not None and verified)

    def test_reload(self) -> None:
        """Other pairs take the place of these for connections to come."""
        other = pair("a.example")
        self.tls.reload(TLSOptions(certificates=self.default.certificates, key=self.default.key, named=(other,)))
        self.assertEqual(self.shake(b"a.example")[1], other.certificates[0])
