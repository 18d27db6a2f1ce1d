"""Verification of server certificates, with the release's error texts."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime
from typing import Any, Final

from cryptography import x509
from OpenSSL import SSL

from orchtw.outbound.addresses import is_address

_EXPIRY: Final = (9, 10)
"""OpenSSL's codes for a certificate that is not yet valid, and one that has expired."""

_UNKNOWN: Final = "x509: certificate signed by unknown authority"
_OTHERS: Final = {
    25: "x509: too many intermediates for path length constraint",
    26: "x509: certificate specifies an incompatible key usage",
}
"""Texts for other codes of OpenSSL; all remaining ones mean an unknown authority."""

_STAMP: Final = "%Y-%m-%dT%H:%M:%SZ"

_SHOWN: Final = 10
"""Number of a certificate's names that a message shows."""


class Distrusted(SSL.Error):
    """Error about an untrusted certificate of the other side; the text gives the reason.

    Its argument has the form of OpenSSL's errors, which Twisted inspects.
    """

    def __init__(self, why: str) -> None:
        super().__init__([("", "", why)])
        self.why = why

    def __str__(self) -> str:
        return self.why


class Verifier:
    """OpenSSL's callback for the certificates of one host: a failure ends the handshake with a clear text."""

    def __init__(self, host: str) -> None:
        self._host = host

    def __call__(self, _connection: Any, certificate: Any, number: int, depth: int, ok: int) -> bool:
        """Check one certificate of the chain, whose last one is the other side's own. Raises Distrusted."""
        try:
            why = self._why_not(certificate.to_cryptography(), number, depth, ok)
        except Exception as problem:  # noqa: BLE001 - a malicious certificate may cause any error
            why = f"x509: malformed certificate: {problem}"
        if why:
            raise Distrusted(why)
        return True

    def _why_not(self, certificate: x509.Certificate, number: int, depth: int, ok: int) -> str:
        if ok:
            return wrong_name(certificate, self._host) if depth == 0 else ""
        return _expired(certificate) if number in _EXPIRY else _OTHERS.get(number, _UNKNOWN)


NO_NAMES = "x509: certificate relies on legacy Common Name field, use SANs instead"
"""Error for a certificate without alternative names."""


def wrong_name(certificate: x509.Certificate, host: str) -> str:
    """Return why a certificate is not for `host`, a name or an IP address; empty: it is."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names, addresses = [], []
    else:
        names = found.get_values_for_type(x509.DNSName)
        addresses = found.get_values_for_type(x509.IPAddress)
    if is_address(host):
        return _wrong_address([str(each) for each in addresses], host)
    if any(_matches(name.lower(), host.lower().rstrip(".")) for name in names):
        return ""
    if names:
        return f"x509: certificate is valid for {_listed(names)}, not {host}"
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    if not addresses and any(_matches(str(each.value).lower(), host.lower()) for each in common):
        return NO_NAMES
    return f"x509: certificate is not valid for any names, but wanted to match {host}"


def _wrong_address(addresses: list[str], host: str) -> str:
    if str(ipaddress.ip_address(host)) in addresses:
        return ""
    if not addresses:
        return f"x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
    return f"x509: certificate is valid for {_listed(addresses)}, not {host}"


def _matches(pattern: str, host: str) -> bool:
    """Report whether a name of a certificate matches the host; a star matches the whole first label."""
    first, _, rest = pattern.rstrip(".").partition(".")
    if first != "*":
        return pattern.rstrip(".") == host and bool(host)
    return bool(rest) and host.partition(".")[2] == rest and not host.startswith(".")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _expired(certificate: x509.Certificate) -> str:
    now = datetime.now(UTC)
    if now < certificate.not_valid_before_utc:
        side, limit = "before", certificate.not_valid_before_utc
    else:
        side, limit = "after", certificate.not_valid_after_utc
    times = f"current time {now:{_STAMP}} is {side} {limit:{_STAMP}}"
    return f"x509: certificate has expired or is not yet valid: {times}"
