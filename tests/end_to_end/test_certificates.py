"""Client certificates against the real server: what cannot be read is a 401 (reference AUTHN-14)."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from OpenSSL import SSL
from twisted.internet.threads import deferToThread

from orchtw.pki import certificates
from tests.end_to_end.case import ServerCase
from tests.serving.malformed import malformed


class MalformedCertificateTests(ServerCase):
    """A signed client certificate with one thing wrong in it."""

    async def code(self, pem: bytes) -> int:
        """Return the response to a client with this certificate and key, on a path open to all."""
        file = Path(self.mktemp())
        file.write_bytes(pem)
        return await deferToThread(_status, self.server.port, str(file))

    async def test_refused(self) -> None:
        """It is a 401 over a connection that lives, and no traceback; what the parser can make sense of is let in."""
        pki = self.server.data_dir / "pki"
        ca_key = load_pem_private_key((pki / "ca.key").read_bytes(), None)
        authority = certificates.Authority(
            x509.load_pem_x509_certificate((pki / "ca.crt").read_bytes()), ca_key  # type: ignore[arg-type]
        )
        key = certificates.new_key()
        good = certificates.issue(authority, key, "bob", certificates.CLIENT, datetime.now(UTC))
        private = certificates.key_pem(key)
        self.assertEqual(await self.code(certificates.pem(good) + private), 200)
        codes = {
            wrong: await self.code(pem + private) for wrong, pem in malformed(good, authority.key, "bob").items()
        }
        self.assertEqual(codes.pop("negative serial"), 200)
        self.assertEqual(set(codes.values()), {401}, codes)


def _status(port: int, file: str) -> int:
    """The status of one answer. The standard library refuses to show some of these certificates, OpenSSL does not."""
    context: Any = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.use_certificate_file(file)
    context.use_privatekey_file(file)
    with socket.create_connection(("127.0.0.1", port)) as plain:
        connection = SSL.Connection(context, plain)
        connection.set_connect_state()
        connection.sendall(b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n")
        return int(connection.recv(65536).split(b" ")[1])
