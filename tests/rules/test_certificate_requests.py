"""Requests for certificates as signers judge them, however odd (reference CSR-3, CSR-17)."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.pki import certificates
from orchtw.pki.issuing import SigningAuthority, sign_request
from orchtw.rules.certificate_requests import read_request
from orchtw.rules.pem import blocks
from tests.controllers.asked_certificates import DNS, EMAIL, IP, KEY, NODE, NODES, URI, pem
from tests.properties import examples

NOW = datetime(2026, 1, 1, tzinfo=UTC)
_MADE = certificates.new_authority("ca", NOW)
AUTHORITY = SigningAuthority(_MADE.certificate, _MADE.key)
(_BLOCK,) = blocks(pem(NODE, NODES, (DNS, EMAIL, IP, URI)))
DER = _BLOCK.content


def field(tag: int, content: bytes) -> bytes:
    """An element of ASN.1 with a short length."""
    return bytes((tag, len(content))) + content


def with_names(*names: bytes) -> bytes:
    """Return a request with alternative names as they are written."""
    extension = x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.17"), field(0x30, b"".join(names)))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.add_extension(extension, critical=False).sign(KEY, SHA256()).public_bytes(Encoding.PEM)


class OddRequestTests(SynchronousTestCase):
    def why(self, request: bytes) -> str:
        """Return the reason that it cannot be read."""
        return str(self.assertRaises(ValueError, read_request, request))

    def test_unreadable_names(self) -> None:
        """Alternative names of kinds that nobody has, and text beyond ASCII, do not cause a failure of ours."""
        party = field(0xA5, field(0xA1, field(0x0C, b"x")))
        self.assertIn("not supported", self.why(with_names(party)))
        self.assertIn("not supported", self.why(with_names(field(0xA3, field(0x30, b"")))))
        self.assertIn("does not appear to be an IPv4 or IPv6 address", self.why(with_names(field(0x87, b"abc"))))
        for tag, kind in ((0x82, "dNSName"), (0x81, "rfc822Name"), (0x86, "uniformResourceIdentifier")):
            self.assertEqual(self.why(with_names(field(tag, "\u00e4".encode()))), f"SAN {kind} is malformed")

    def test_dropped_names(self) -> None:
        """Registered ids and directory names are dropped."""
        found = read_request(with_names(field(0x88, b"\x2a\x03"), field(0xA4, field(0x30, b"")), field(0x82, b"a")))
        self.assertEqual(found.alternatives, (x509.DNSName("a"),))

    def test_names_of_the_subject(self) -> None:
        """Of several common names the last counts, as it does when the certificate is shown (AUTHN-13)."""
        names = [x509.NameAttribute(NameOID.COMMON_NAME, each) for each in (NODE, "admin")]
        builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
        found = read_request(builder.sign(KEY, SHA256()).public_bytes(Encoding.PEM))
        self.assertEqual(found.common_name, "admin")

    @examples(500)
    @given(st.lists(st.tuples(st.integers(0, len(DER) - 1), st.integers(0, 255)), min_size=1, max_size=4))
    def test_any(self, changes: list[tuple[int, int]]) -> None:
        """Whatever bytes somebody signs: the request is read and signed, or refused with a ValueError."""
        data = bytearray(DER)
        for place, value in changes:
            data[place] = value
        request = b"-----BEGIN CERTIFICATE REQUEST-----\n%b\n-----END CERTIFICATE REQUEST-----\n" % b64encode(data)
        try:
            sign_request(AUTHORITY, read_request(request), ("client auth",), timedelta(hours=1), NOW)
        except ValueError:
            return
