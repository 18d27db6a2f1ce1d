"""Requests for certificates as people and nodes send them."""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

DNS, EMAIL = x509.DNSName("a.example.com"), x509.RFC822Name("a@example.com")
URI = x509.UniformResourceIdentifier("a:b")
IP = x509.IPAddress(ipaddress.ip_address("10.0.0.1"))
NODES = ("system:nodes",)
NODE = "system:node:a"
KEY = ec.generate_private_key(ec.SECP256R1())


def pem(
    name: str = "jane",
    organizations: Sequence[str] = (),
    alternatives: Sequence[x509.GeneralName] = (),
    more: Sequence[x509.ExtensionType] = (),
) -> bytes:
    """A PKCS #10 request."""
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    if name:
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    for extension in more:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(KEY, SHA256()).public_bytes(Encoding.PEM)


def encoded(request: bytes) -> str:
    """As an object carries it."""
    return b64encode(request).decode()
