"""Certificate signing requests, parsed for signers and approvers (reference CSR-3, CSR-13)."""

from __future__ import annotations

from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import NameOID

from orchtw.rules.pem import blocks


class CertificateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a PKCS #10 request; `alternatives` are its DNS, e-mail, IP and URI names, in this order."""

    pkcs10: x509.CertificateSigningRequest
    public_key: CertificatePublicKeyTypes
    organizations: tuple[str, ...]
    common_name: str
    alternatives: tuple[x509.GeneralName, ...]

    def has_names(self, *kinds: type[x509.GeneralName]) -> bool:
        """Report whether any alternative name is of one of these kinds."""
        return any(isinstance(each, kinds) for each in self.alternatives)


MAX_BYTES: Final = 16 * 1024
"""Size limit of a parsed request: the names of a longer one would take too long to read."""

DNS, IP, EMAIL, URI = x509.DNSName, x509.IPAddress, x509.RFC822Name, x509.UniformResourceIdentifier
_SHOWN: Final = {DNS: "dNSName", EMAIL: "rfc822Name", URI: "uniformResourceIdentifier"}
_UNREADABLE: Final = (
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""Exceptions raised, beside ValueError, for parts of a request that cannot be parsed."""


def read_request(pem: bytes) -> CertificateRequest:
    """Parse the request in the first PEM block. Raises ValueError if it is invalid or longer than MAX_BYTES."""
    block = next(blocks(pem), None)
    if block is None or block.type != "CERTIFICATE REQUEST":
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    if len(block.content) > MAX_BYTES:
        raise ValueError(f"the request has more than {MAX_BYTES} bytes")
    try:
        pkcs10 = x509.load_der_x509_csr(block.content)
        return CertificateRequest(
            pkcs10=pkcs10,
            public_key=pkcs10.public_key(),
            organizations=_values(pkcs10, NameOID.ORGANIZATION_NAME),
            common_name=("", *_values(pkcs10, NameOID.COMMON_NAME))[-1],
            alternatives=_alternatives(pkcs10),
        )
    except _UNREADABLE as error:
        raise ValueError(str(error)) from error


def _values(pkcs10: x509.CertificateSigningRequest, oid: x509.ObjectIdentifier) -> tuple[str, ...]:
    found = (each.value for each in pkcs10.subject.get_attributes_for_oid(oid))
    return tuple(each if isinstance(each, str) else each.decode("utf-8", "replace") for each in found)


def _alternatives(pkcs10: x509.CertificateSigningRequest) -> tuple[x509.GeneralName, ...]:
    try:
        names = pkcs10.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    for each in names:
        if type(each) in _SHOWN and not str(each.value).isascii():
            raise ValueError(f"SAN {_SHOWN[type(each)]} is malformed")
    kept = {kind: [each for each in names if isinstance(each, kind)] for kind in (DNS, EMAIL, IP, URI)}
    return tuple(name for found in kept.values() for name in found)
