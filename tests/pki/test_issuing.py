"""Certificates for requests (reference CSR-13, CSR-14, CSR-16)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from twisted.trial.unittest import SynchronousTestCase

from orchtw.pki import certificates
from orchtw.pki.issuing import SigningAuthority, sign_request
from orchtw.rules.certificate_requests import MAX_BYTES, read_request
from tests.controllers.asked_certificates import DNS, EMAIL, IP, KEY, URI, pem

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
OWN = certificates.new_authority("ca", NOW)
CA = SigningAuthority(OWN.certificate, OWN.key)
MINUTES_5, YEAR = timedelta(minutes=5), timedelta(days=365)


def issued(
    request: bytes, usages: tuple[str, ...] = ("client auth",), life: timedelta = YEAR, now: datetime = NOW
) -> x509.Certificate:
    return sign_request(CA, read_request(request), usages, life, now)


class IssuingTests(SynchronousTestCase):
    def test_contents(self) -> None:
        """Subject, key and names are the request's; it is not a CA, whatever was asked for."""
        wanted = x509.BasicConstraints(ca=True, path_length=None)
        found = issued(pem("jane", ("dev", "ops"), (URI, IP, EMAIL, DNS), (wanted,)))
        self.assertTrue(certificates.issued_by(found, OWN.certificate))
        self.assertEqual(found.subject.rfc4514_string(), "CN=jane,O=ops,O=dev")
        self.assertTrue(certificates.matches(found, KEY))
        constraints = found.extensions.get_extension_for_class(x509.BasicConstraints)
        self.assertEqual((constraints.critical, constraints.value.ca), (True, False))
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        self.assertFalse(names.critical)
        self.assertEqual(list(names.value), [DNS, EMAIL, IP, URI])

    def test_dropped(self) -> None:
        """Other extensions and other kinds of names are not taken over."""
        policy = x509.TLSFeature([x509.TLSFeatureType.status_request])
        found = issued(pem("jane", (), (x509.RegisteredID(ExtendedKeyUsageOID.CLIENT_AUTH),), (policy,)))
        kinds = {type(each.value) for each in found.extensions}
        self.assertEqual(
            kinds, {x509.BasicConstraints, x509.AuthorityKeyIdentifier, x509.ExtendedKeyUsage}
        )

    def test_nameless(self) -> None:
        """Without a subject the names are critical."""
        names = issued(pem("", (), (DNS,))).extensions.get_extension_for_class(x509.SubjectAlternativeName)
        self.assertTrue(names.critical)

    def test_usages(self) -> None:
        """Usages become bits and purposes."""
        found = issued(pem(), ("digital signature", "key encipherment", "client auth", "s/mime", "email protection"))
        bits = found.extensions.get_extension_for_class(x509.KeyUsage)
        self.assertTrue(bits.critical)
        self.assertEqual(
            (bits.value.digital_signature, bits.value.key_encipherment, bits.value.key_cert_sign), (True, True, False)
        )
        purposes = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
        self.assertEqual(
            list(purposes.value), [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.EMAIL_PROTECTION]
        )

    def test_only(self) -> None:
        """`encipher only` needs key agreement."""
        for usages, expected in ((("key agreement", "encipher only"), True), (("signing", "encipher only"), None)):
            bits = issued(pem(), usages).extensions.get_extension_for_class(x509.KeyUsage).value
            self.assertEqual(bits.encipher_only if bits.key_agreement else None, expected)
            self.assertEqual(len([each for each in issued(pem(), usages).extensions if "Extended" in str(each)]), 0)

    def test_life(self) -> None:
        """It is back-dated by five minutes; what lives for less than eight hours loses nothing by that."""
        cases = ((YEAR, YEAR - MINUTES_5), (timedelta(hours=1), timedelta(hours=1)))
        for life, expected in cases:
            found = issued(pem(), life=life)
            self.assertEqual(found.not_valid_before_utc, NOW - MINUTES_5)
            self.assertEqual(found.not_valid_after_utc, NOW + expected)

    def test_end_of_authority(self) -> None:
        """Nothing outlives its authority, and an authority that has ended signs nothing."""
        end = OWN.certificate.not_valid_after_utc
        for life in (YEAR, timedelta.max):
            self.assertEqual(issued(pem(), life=life, now=end - timedelta(hours=1)).not_valid_after_utc, end)
            self.assertEqual(issued(pem(), life=life, now=end - timedelta(seconds=1)).not_valid_after_utc, end)
        with self.assertRaisesRegex(ValueError, "the signer has expired"):
            issued(pem(), now=end)

    def test_serials(self) -> None:
        """They are random, of up to 128 bits."""
        serials = {issued(pem()).serial_number for _ in range(5)}
        self.assertEqual(len(serials), 5)
        self.assertLess(max(serials), 1 << 128)

    def test_kinds_of_keys(self) -> None:
        """Authorities may have keys of any kind."""
        for key in (
            rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1()),
            ec.generate_private_key(ec.SECP521R1()), ed25519.Ed25519PrivateKey.generate(),
        ):
            own = SigningAuthority(OWN.certificate, key)
            found = sign_request(own, read_request(pem()), ("client auth",), YEAR, NOW)
            self.assertEqual(found.issuer, OWN.certificate.subject)

    def test_unreadable(self) -> None:
        """A text that is not a request, or is too long, raises ValueError with the reason (reference CSR-17)."""
        for text in (b"", b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"):
            with self.assertRaisesRegex(ValueError, "PEM block type must be CERTIFICATE REQUEST"):
                read_request(text)
        with self.assertRaises(ValueError):
            read_request(b"-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n")
        with self.assertRaisesRegex(ValueError, f"more than {MAX_BYTES} bytes"):
            read_request(pem("jane", ("x" * 60,) * 1200))
