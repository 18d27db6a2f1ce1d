"""Certificates between the API server and the node agent of its simulated nodes, made anew by each process."""

# mypy: allow-untyped-calls
# Twisted's certificates are not annotated.

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from cryptography import x509
from OpenSSL import crypto
from twisted.internet.ssl import Certificate, CertificateOptions, trustRootFromCertificates

from orchtw.outbound.tls import ClientTLS
from orchtw.pki import certificates

LOOPBACK: Final = "127.0.0.1"


class AgentIdentity(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """`server` is the agent's TLS, which only clients with a known certificate pass; `client` is the API server's."""

    server: CertificateOptions
    client: ClientTLS


def new_identity(others: Sequence[x509.Certificate], name: str) -> AgentIdentity:
    """Make an authority and two certificates by it; clients of the authorities of `others` are let in too.

    `name` is the subject of the API server's certificate.
    """
    now = datetime.now(UTC)
    authority = certificates.new_authority("simulated-nodes", now)
    client_key, server_key = certificates.new_key(), certificates.new_key()
    client = certificates.issue(authority, client_key, name, certificates.CLIENT, now)
    server = certificates.issue(
        authority, server_key, "simulated-node-agent", certificates.SERVER, now, hosts=(LOOPBACK,)
    )
    trusted = [Certificate(crypto.X509.from_cryptography(each)) for each in (authority.certificate, *others)]
    options = CertificateOptions(
        privateKey=crypto.PKey.from_cryptography_key(server_key),
        certificate=crypto.X509.from_cryptography(server),
        trustRoot=trustRootFromCertificates(trusted),
    )
    tls = ClientTLS(certificates=(client,), key=client_key, authorities=(authority.certificate,))
    return AgentIdentity(server=options, client=tls)
