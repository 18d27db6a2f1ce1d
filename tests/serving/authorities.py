"""Certificate authorities and TLS clients for the end-to-end tests; the clients are the standard library's."""

from __future__ import annotations

import os
import socket
import ssl
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A test's own sockets never wait longer than that; it is reached only when the test fails.
PATIENCE_S = 20.0


class Identity:
    """A certificate and its key; one that `is_ca` can issue others."""

    def __init__(
        self,
        name: str,
        issuer: Identity | None = None,
        *,
        is_ca: bool = False,
        expired: bool = False,
        usage: x509.ObjectIdentifier | None = None,
        key: Any = None,
    ) -> None:
        self.key: Any = key or ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.certificate.subject if issuer else subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=10))
            .not_valid_after(now - timedelta(days=1) if expired else now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        signer = issuer.key if issuer else self.key
        digest = None if isinstance(signer, ed25519.Ed25519PrivateKey) else SHA256()
        self.certificate: x509.Certificate = builder.sign(signer, digest)

    def pem(self, *chain: Identity) -> bytes:
        """Certificate, chain and key in one file's content."""
        shown = b"".join(one.certificate.public_bytes(Encoding.PEM) for one in (self, *chain))
        key: bytes = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return shown + key


CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


def client_context(path: Callable[[], str], pem: bytes = b"", alpn: list[str] | None = None) -> ssl.SSLContext:
    """A client that shows the certificate of `pem` and checks nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if pem:
        file = path()
        with open(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as stream:
            stream.write(pem)
        context.load_cert_chain(file)
    if alpn:
        context.set_alpn_protocols(alpn)
    return context


def connect(port: int, context: ssl.SSLContext, receive_bytes: int = 0) -> ssl.SSLSocket:
    """A TLS connection to a loopback port, with a small receive buffer if one is named."""
    plain = socket.socket()
    plain.settimeout(PATIENCE_S)
    if receive_bytes:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    try:
        plain.connect(("127.0.0.1", port))
        return context.wrap_socket(plain)
    except BaseException:
        plain.close()
        raise


def read_to_end(client: ssl.SSLSocket) -> bytes:
    """All that the server sends until it closes TLS in order; an unclean end raises SSLError."""
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


def reset(client: socket.socket) -> None:
    """Vanish: a reset instead of a close."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
