"""Names in certificates (reference HOOK-28)."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.trust import wrong_name
from orchtw.pki import certificates


def certificate(*names: str, common: str = "") -> x509.Certificate:
    """One with these alternative names, if any."""
    key, now = certificates.new_key(), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)] if common else [])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now, now + timedelta(days=1))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_general, names))), critical=False)
    return builder.sign(key, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class NameTests(SynchronousTestCase):
    """Matching of certificates and host names."""

    def test_good(self) -> None:
        """Names in any case, a star for one part, addresses in any spelling."""
        for name, host in (
            ("a.b.svc", "a.b.svc"),
            ("A.b.svc", "a.B.svc."),
            ("*.b.svc", "a.b.svc"),
            ("10.0.0.1", "10.0.0.1"),
            ("2001:db8::1", "2001:0db8:0::1"),
        ):
            self.assertEqual(wrong_name(certificate("other", name), host), "")

    def test_bad(self) -> None:
        """Each failure has its words."""
        valid = "x509: certificate is valid for"
        for made, host, text in (
            (certificate("*.b.svc"), "x.a.b.svc", f"{valid} *.b.svc, not x.a.b.svc"),
            (certificate("*.b.svc"), "b.svc", f"{valid} *.b.svc, not b.svc"),
            (certificate("*.b.svc"), ".b.svc", f"{valid} *.b.svc, not .b.svc"),
            (certificate("a*.svc"), "ab.svc", f"{valid} a*.svc, not ab.svc"),
            (certificate("*"), "a", f"{valid} *, not a"),
            (certificate("10.0.0.1"), "10.0.0.2", f"{valid} 10.0.0.1, not 10.0.0.2"),
            (
                certificate("a"),
                "10.0.0.1",
                "x509: cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs",
            ),
            (
                certificate(common="a"),
                "a",
                "x509: certificate relies on legacy Common Name field, use SANs instead",
            ),
            (
                certificate(common="b"),
                "a",
                "x509: certificate is not valid for any names, but wanted to match a",
            ),
        ):
            self.assertEqual(wrong_name(made, host), text)

    def test_many(self) -> None:
        """Of many names some are shown."""
        made = certificate(*(f"n{at}" for at in range(1000)))
        self.assertEqual(len(wrong_name(made, "a")), len("x509: certificate is valid for n0, …, not a") + 9 * 4)
