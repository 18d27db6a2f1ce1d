"""TLS policy towards a server, as a value: connections are shared by equal policies."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import attrs
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from orchtw.outbound.tls import ClientTLS

_POLICIES: Final = 256
"""Number of policies whose parsed certificates are kept."""

CERTIFICATES: Final = 300
"""Limit of a bundle: twice the number of the web's authorities. They take 30 ms to read and check."""

_BEGIN: Final = b"-----BEGIN CERTIFICATE-----"
_END: Final = b"-----END CERTIFICATE-----"


class BadTLS(Exception):
    """Error about an unusable bundle, certificate or key; the text is one line."""


@attrs.frozen(slots=True, kw_only=True, cache_hash=True)
class TLSPolicy:
    """PEM bytes of the trusted authorities (empty: those of the machine), and of the client certificate and key.

    Two calls may share a connection only if their policies are equal. `server_name` is the name that the certificate
    must be for, if not the URL's host; with `insecure` no server is verified.
    """

    authorities: bytes = attrs.field(default=b"", repr=False)
    insecure: bool = False
    certificate: bytes = attrs.field(default=b"", repr=False)
    key: bytes = attrs.field(default=b"", repr=False)
    server_name: str = ""

    def tls(self) -> ClientTLS:
        """Return the TLS settings of connections. Raises BadTLS."""
        return _parsed(self)


@lru_cache(_POLICIES)
def _parsed(policy: TLSPolicy) -> ClientTLS:
    authorities = () if policy.insecure or not policy.authorities else read_authorities(policy.authorities)
    if not policy.certificate and not policy.key:
        return ClientTLS(authorities=authorities, system=not policy.insecure and not authorities)
    try:
        certificates = tuple(x509.load_pem_x509_certificates(policy.certificate))
        key = load_pem_private_key(policy.key, None)
        if certificates[0].public_key() != key.public_key():
            raise BadTLS("tls: private key does not match public key")
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        raise BadTLS(f"tls: the client certificate and key cannot be used: {problem}") from None
    return ClientTLS(
        certificates=certificates,
        key=key,
        authorities=authorities,
        system=not policy.insecure and not authorities,
    )


def read_authorities(bundle: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a bundle; unreadable ones are skipped, but one must be readable. Raises BadTLS."""
    _, *blocks = bundle.split(_BEGIN)
    if len(blocks) > CERTIFICATES:
        raise BadTLS(f"unable to load root certificates: there are more than {CERTIFICATES}")
    found = []
    trouble = "unable to parse bytes as PEM block"
    for block in blocks:
        content, end, _ = block.partition(_END)
        try:
            found.append(x509.load_pem_x509_certificate(_BEGIN + content + end))
        except (ValueError, x509.InvalidVersion) as problem:
            trouble = f"failed to parse certificate: {problem}" if end else trouble
    if not found:
        raise BadTLS(f"unable to load root certificates: {trouble}")
    return tuple(found)
