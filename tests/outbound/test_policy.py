"""Bundles, certificates and keys as bytes (reference HOOK-28)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.policy import CERTIFICATES, BadTLS, TLSPolicy, read_authorities
from orchtw.pki import certificates
from tests.outbound.test_kubeconfig import CA, CERTIFICATE, KEY_PEM

BEGIN, END = b"-----BEGIN CERTIFICATE-----\n", b"-----END CERTIFICATE-----\n"


class PolicyTests(SynchronousTestCase):
    """TLS policies of connections."""

    def trouble(self, policy: TLSPolicy) -> str:
        with self.assertRaises(BadTLS) as raised:
            policy.tls()
        return str(raised.exception)

    def test_whom_to_believe(self) -> None:
        """A bundle's authorities, without one the machine's, or anybody."""
        bundle = TLSPolicy(authorities=CA).tls()
        self.assertEqual((len(bundle.authorities), bundle.system), (1, False))
        system = TLSPolicy().tls()
        self.assertEqual((len(system.authorities), system.system), (0, True))
        for insecure in (TLSPolicy(insecure=True), TLSPolicy(insecure=True, authorities=CA)):
            self.assertEqual((insecure.tls().authorities, insecure.tls().system), ((), False))

    def test_bundle(self) -> None:
        """Text around certificates, and unreadable certificates, are ignored."""
        bundle = b"# mine\n" + CA + BEGIN + b"AAAA\n" + END + b"text\n" + CA + BEGIN
        self.assertEqual(len(read_authorities(bundle)), 2)

    def test_bad_bundle(self) -> None:
        """A bundle without any, and one with too many; neither takes long."""
        none = "unable to load root certificates: unable to parse bytes as PEM block"
        for bundle in (b"x", b" ", KEY_PEM, BEGIN, BEGIN * 100):
            self.assertEqual(self.trouble(TLSPolicy(authorities=bundle)), none)
        failed = "unable to load root certificates: failed to parse certificate: "
        self.assertTrue(self.trouble(TLSPolicy(authorities=BEGIN + b"AAAA\n" + END)).startswith(failed))
        many = f"unable to load root certificates: there are more than {CERTIFICATES}"
        self.assertEqual(self.trouble(TLSPolicy(authorities=BEGIN * 100_000)), many)

    def test_certificate(self) -> None:
        """A certificate and its key, or the reason why they cannot be used."""
        shown = TLSPolicy(certificate=CERTIFICATE, key=KEY_PEM).tls()
        self.assertEqual(len(shown.certificates), 1)
        other = certificates.key_pem(certificates.new_key())
        text = "tls: private key does not match public key"
        self.assertEqual(self.trouble(TLSPolicy(certificate=CERTIFICATE, key=other)), text)
        text = "tls: the client certificate and key cannot be used: "
        for certificate, key in ((CERTIFICATE, b""), (b"", KEY_PEM), (b"x", KEY_PEM), (CERTIFICATE, b"x")):
            self.assertTrue(self.trouble(TLSPolicy(certificate=certificate, key=key)).startswith(text))

    def test_secret(self) -> None:
        """A key is in no text that may be logged."""
        self.assertNotIn("PRIVATE", repr(TLSPolicy(certificate=CERTIFICATE, key=KEY_PEM)))
