"""Verification of client certificates, and valid key pairs of servers: handshakes in memory."""

from __future__ import annotations

from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import SSL
from OpenSSL._util import lib
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.request import UNREADABLE
from orchtw.serving import tls_context
from orchtw.serving.tls_context import ServingTLS, TLSOptions, verified
from tests.serving.authorities import CLIENT, SERVER, Identity
from tests.serving.malformed import malformed

ANY = ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE
RSA, RSASSA_PSS = bytes.fromhex("2a864886f70d0101010500"), bytes.fromhex("2a864886f70d01010a3000")
ROUNDS = 8
RECORDS_BYTES = 1 << 17


def handshake(server: Any, client: Any) -> Any:
    """The server's end of a finished handshake between two contexts; raises SSL.Error when it fails."""
    return joined(SSL.Connection(server), SSL.Connection(client))


def joined(near: Any, far: Any) -> Any:
    """The server's end, once both have shaken hands and the client has read what tickets there are."""
    near.set_accept_state()
    far.set_connect_state()
    for _ in range(ROUNDS):
        for here, there in ((far, near), (near, far)):
            try:
                here.do_handshake()
            except SSL.WantReadError:
                pass
            try:
                there.bio_write(here.bio_read(RECORDS_BYTES))
            except SSL.WantReadError:
                pass
    try:
        far.recv(1)
    except SSL.WantReadError:
        pass
    return near


def client_of(*shown: x509.Certificate, key: Any = None) -> Any:
    """A client that shows these certificates."""
    context: Any = SSL.Context(SSL.TLS_CLIENT_METHOD)
    if shown:
        context.use_certificate(shown[0])
        context.use_privatekey(key)
    for more in shown[1:]:
        context.add_extra_chain_cert(more)
    return context


class TrustTests(SynchronousTestCase):
    """Chains from a root over an intermediate to a client, as Go's verifier sees them (reference AUTHN-12)."""

    def setUp(self) -> None:
        self.root = Identity("root", is_ca=True)
        self.server = Identity("server", self.root)

    def believed(self, client: Identity, *chain: Identity, anchor: Identity) -> bool:
        """Report whether a server that trusts `anchor` verifies a client with this chain."""
        options = TLSOptions(
            certificates=(self.server.certificate,), key=self.server.key, client_cas=(anchor.certificate,)
        )
        shown = [one.certificate for one in (client, *chain)]
        return verified(handshake(ServingTLS(options).context, client_of(*shown, key=client.key)))

    def test_intermediate_alone(self) -> None:
        """An intermediate without its root is an anchor, whether the client shows it, both, or neither."""
        middle = Identity("middle", self.root, is_ca=True)
        alice = Identity("alice", middle, usage=CLIENT)
        for chain in ((), (middle,), (middle, self.root)):
            self.assertTrue(self.believed(alice, *chain, anchor=middle))

    def test_beside_the_intermediate(self) -> None:
        """Trust in an intermediate covers neither its root's other ones nor what its leaves sign."""
        middle, other = (Identity(name, self.root, is_ca=True) for name in ("middle", "other"))
        self.assertFalse(self.believed(Identity("alice", other), other, self.root, anchor=middle))
        bob = Identity("bob", middle)
        self.assertFalse(self.believed(Identity("alice", bob), bob, anchor=middle))

    def test_own_certificate(self) -> None:
        """A client certificate that stands in the file itself is its own anchor; expired, it is not."""
        alice = Identity("alice", self.root, usage=CLIENT)
        self.assertTrue(self.believed(alice, anchor=alice))
        old = Identity("alice", self.root, expired=True)
        self.assertFalse(self.believed(old, anchor=old))

    def test_purpose(self) -> None:
        """Extended key usage must name clients or any purpose; without it a certificate is for everything."""
        for usage, fine in ((None, True), (CLIENT, True), (ANY, True), (SERVER, False)):
            self.assertEqual(self.believed(Identity("alice", self.root, usage=usage), anchor=self.root), fine, usage)

    def test_purpose_of_authorities(self) -> None:
        """The purposes of every authority above limit what its certificates are for, the anchor's too."""
        for usage, fine in ((None, True), (CLIENT, True), (ANY, True), (SERVER, False)):
            middle = Identity("middle", self.root, is_ca=True, usage=usage)
            alice = Identity("alice", middle, usage=ANY)
            self.assertEqual(self.believed(alice, middle, anchor=self.root), fine, usage)
            self.assertEqual(self.believed(alice, anchor=middle), fine, usage)

    def test_purpose_excuses_nothing(self) -> None:
        """A certificate for any purpose that is out of date or a stranger's is not believed (reference AUTHN-16)."""
        stranger = Identity("root", is_ca=True)
        self.assertFalse(self.believed(Identity("alice", self.root, usage=ANY, expired=True), anchor=self.root))
        self.assertFalse(self.believed(Identity("alice", stranger, usage=ANY), anchor=self.root))

    def test_announced(self) -> None:
        """Certificates of proxies are asked for beside those of clients, and not believed by that (AUTHN-38)."""
        root, proxies = Identity("root", is_ca=True), Identity("proxies", is_ca=True)
        options = TLSOptions(
            certificates=(self.server.certificate,),
            key=self.server.key,
            client_cas=(root.certificate,),
            announced_cas=(proxies.certificate,),
        )
        proxy, asked = Identity("proxy", proxies), []
        client = client_of(proxy.certificate, key=proxy.key)
        client.set_info_callback(lambda connection, *_: asked.append(connection.get_client_ca_list()))
        server = handshake(ServingTLS(options).context, client)
        self.assertFalse(verified(server))
        self.assertEqual([name.commonName for name in asked[-1]], ["root", "proxies"])

    def test_no_certificate(self) -> None:
        """No certificate is not a verified one (reference AUTHN-16)."""
        options = TLSOptions(
            certificates=(self.server.certificate,), key=self.server.key, client_cas=(self.root.certificate,)
        )
        self.assertFalse(verified(handshake(ServingTLS(options).context, client_of())))


class ResumptionTests(SynchronousTestCase):
    """Sessions that are resumed (reference AUTHN-15, AUTHN-53, AUTHN-54)."""

    def setUp(self) -> None:
        self.root, self.middle = Identity("root", is_ca=True), Identity("middle", is_ca=True)
        self.server = Identity("server", self.root)
        self.tls = ServingTLS(self.options(self.root))

    def options(self, *anchors: Identity) -> TLSOptions:
        return TLSOptions(
            certificates=(self.server.certificate,),
            key=self.server.key,
            client_cas=tuple(anchor.certificate for anchor in anchors),
        )

    def connect(self, client: Any, session: Any = None) -> tuple[Any, bool, Any]:
        """Certificate, whether it is verified, and the session to go on with."""
        far = SSL.Connection(client)
        if session is not None:
            far.set_session(session)
        near = joined(SSL.Connection(self.tls.context), far)
        self.resumed = bool(lib.SSL_session_reused(far._ssl))
        certificate, good = self.tls.identity_of(near)
        session = far.get_session()
        far.shutdown()  # a session of a connection that is just dropped does not count any more
        return certificate, good, session

    def clients(self, identity: Identity | None, *chain: Identity) -> list[Any]:
        """A client of each version of TLS."""
        shown = [] if identity is None else [one.certificate for one in (identity, *chain)]
        made = [client_of(*shown, key=identity and identity.key) for _ in range(2)]
        made[0].set_max_proto_version(SSL.TLS1_2_VERSION)
        return made

    def test_identity(self) -> None:
        """A resumed session has the user of the first one, again and again, without the chain."""
        middle = Identity("middle", self.root, is_ca=True)
        for client in self.clients(Identity("alice", middle, usage=CLIENT), middle):
            certificate, good, session = self.connect(client)
            self.assertTrue(good)
            self.assertFalse(self.resumed)
            for _ in range(3):
                again, good, session = self.connect(client, session)
                self.assertTrue(self.resumed and good)
                self.assertIs(again, certificate)

    def test_without_certificate(self) -> None:
        """Clients with tokens resume too, which authenticates no one."""
        for client in self.clients(None):
            session = self.connect(client)[2]
            self.assertEqual(self.connect(client, session)[:2], (None, False))
            self.assertTrue(self.resumed)

    def test_stranger(self) -> None:
        """A certificate that was not verified is not verified by coming back."""
        stranger = Identity("root", is_ca=True)
        for bad in (Identity("alice", stranger), Identity("alice", self.root, usage=SERVER)):
            for client in self.clients(bad):
                session = self.connect(client)[2]
                certificate, good, _ = self.connect(client, session)
                self.assertEqual((certificate is None, good), (False, False))

    def test_other_authorities(self) -> None:
        """With other authorities every client is verified again, whatever session it has."""
        for anchors, expected in (((self.middle, self.root), True), ((self.middle,), False)):
            for client in self.clients(Identity("alice", self.root, usage=CLIENT)):
                self.tls.reload(self.options(self.root))
                session = self.connect(client)[2]
                self.tls.reload(self.options(*anchors))
                self.assertEqual(self.connect(client, session)[1], expected)
                self.assertFalse(self.resumed)

    def test_renewed(self) -> None:
        """After so many certificates the context makes place for another, and nobody is turned away by that."""
        self.patch(tls_context, "BELIEVED", 2)
        first, second = (client_of(one.certificate, key=one.key) for one in map(self.client, ("alice", "bob")))
        session = self.connect(first)[2]
        self.connect(second)
        self.assertTrue(self.connect(first, session)[1])
        self.assertFalse(self.resumed)

    def client(self, name: str) -> Identity:
        return Identity(name, self.root, usage=CLIENT)


class UnreadableTests(SynchronousTestCase):
    """Certificates that OpenSSL accepts and the parser refuses."""

    def test_marked(self) -> None:
        """The handshake succeeds; what cannot be parsed is UNREADABLE, never an exception or no certificate."""
        root = Identity("root", is_ca=True)
        server = Identity("server", root)
        alice = Identity("alice", root, usage=CLIENT)
        tls = ServingTLS(
            TLSOptions(certificates=(server.certificate,), key=server.key, client_cas=(root.certificate,))
        )
        unreadable = set()
        for wrong, pem in malformed(alice.certificate, root.key, "alice").items():
            file = self.mktemp()
            with open(file, "wb") as stream:
                stream.write(pem)
            client: Any = SSL.Context(SSL.TLS_CLIENT_METHOD)
            client.use_certificate_file(file)
            client.use_privatekey(alice.key)
            found, good = tls.identity_of(handshake(tls.context, client))
            self.assertFalse(good and found is UNREADABLE)
            self.assertIsNotNone(found)
            if found is UNREADABLE:
                unreadable.add(wrong)
        self.assertEqual(unreadable, {"version 4", "name is no printable text", "time is no time"})


class KeyPairTests(SynchronousTestCase):
    """Keys of every kind as a server's own."""

    def refusal(self, certificate: x509.Certificate, key: Any) -> str:
        """The one line that such a pair is refused with."""
        options = TLSOptions(certificates=(certificate,), key=key)
        error: ConfigError = self.assertRaises(ConfigError, ServingTLS, options)
        (line,) = error.problems
        return line

    def test_accepted(self) -> None:
        """With these a client of either version of TLS connects."""
        keys: list[Any] = [
            ec.generate_private_key(ec.SECP256R1()),
            ec.generate_private_key(ec.SECP384R1()),
            ec.generate_private_key(ec.SECP521R1()),
            ed25519.Ed25519PrivateKey.generate(),
            rsa.generate_private_key(65537, 2048),
        ]
        for key in keys:
            server = Identity("server", key=key)
            tls = ServingTLS(TLSOptions(certificates=(server.certificate,), key=key))
            for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
                client = client_of()
                client.set_max_proto_version(version)
                self.assertIsNotNone(handshake(tls.context, client).get_cipher_name())

    def test_refused(self) -> None:
        """With these none would: a line says so instead of a server that nobody reaches."""
        curves: list[Any] = [ec.SECP256K1(), ec.BrainpoolP256R1(), ec.BrainpoolP512R1(), ec.SECP224R1()]
        kinds: list[tuple[Any, str]] = [(ec.generate_private_key(each), f"of curve {each.name}") for each in curves]
        for key, kind in [*kinds, (dsa.generate_private_key(2048), "for DSA")]:
            self.assertIn(f"has a key {kind},", self.refusal(Identity("server", key=key).certificate, key))
        key = rsa.generate_private_key(65537, 2048)
        plain = Identity("server", key=key).certificate.public_bytes(Encoding.DER)
        pss = x509.load_der_x509_certificate(plain.replace(RSA, RSASSA_PSS))
        self.assertIn("has a key for RSASSA-PSS only,", self.refusal(pss, key))

    def test_reasons(self) -> None:
        """OpenSSL's refusals are reported in its own words: a weak key is not called another certificate's."""
        weak = rsa.generate_private_key(65537, 1024)
        prefix = "the serving certificate and its key cannot be used: "
        self.assertEqual(self.refusal(Identity("server", key=weak).certificate, weak), f"{prefix}ee key too small")
        other = Identity("other").key
        self.assertEqual(self.refusal(Identity("server").certificate, other), f"{prefix}key values mismatch")
