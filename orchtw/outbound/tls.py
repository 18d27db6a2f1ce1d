"""TLS as a client: the certificate to present, and the verification of the other side's."""

# mypy: allow-untyped-calls
# Twisted's connection creators are not annotated.

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from OpenSSL import SSL, crypto
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.internet.ssl import Certificate, CertificateOptions, platformTrust, trustRootFromCertificates
from zope.interface import implementer

from orchtw.errors import ConfigError
from orchtw.outbound.addresses import is_address
from orchtw.outbound.trust import Verifier

_HOSTS: Final = 256
"""Number of hosts whose contexts are kept: one takes a millisecond to make, and a dozen KiB."""


class ClientTLS(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """TLS settings of a client: its certificate and trusted authorities.

    `certificates` is the chain to present, the client's own first; may be empty. Without `authorities` no server is
    verified: pods and services have self-signed certificates, and so do node agents by default. With `system` the
    authorities of the machine are trusted. `protocols` are offered by ALPN.
    """

    certificates: tuple[x509.Certificate, ...] = ()
    key: PrivateKeyTypes | None = None
    authorities: tuple[x509.Certificate, ...] = ()
    system: bool = False
    protocols: tuple[bytes, ...] = ()

    @property
    def unverified(self) -> ClientTLS:
        """The same settings without verification of the server."""
        return msgspec.structs.replace(self, authorities=(), system=False)

    def creator(self, host: str) -> Any:
        """Return the creator of TLS connections to `host`; with authorities its certificate must be for that host.

        Raises ConfigError when key and certificate do not belong together.
        """
        try:
            return _creator(self, host)
        except (SSL.Error, ValueError) as problem:
            raise ConfigError(f"the client certificate cannot be used: {problem}") from None

    def make_creator(self, host: str) -> Any:
        """Make a creator, as `creator` does without a cache. Raises OpenSSL's errors."""
        options = self._shown()
        if not self.authorities and not self.system:
            return _Creator(self._offering(CertificateOptions(**options).getContext()), host)
        roots = [Certificate(crypto.X509.from_cryptography(each)) for each in self.authorities]
        options["trustRoot"] = trustRootFromCertificates(roots) if roots else platformTrust()
        context = CertificateOptions(**options).getContext()
        # An intermediate authority in a bundle is trusted by itself, and so is a server's own certificate.
        store: Any = context.get_cert_store()
        store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)
        context.set_verify(SSL.VERIFY_PEER, Verifier(host))
        return _Creator(self._offering(context), host)

    def _offering(self, context: Any) -> Any:
        if self.protocols:
            context.set_alpn_protos(list(self.protocols))
        return context

    def _shown(self) -> dict[str, Any]:
        """Return the certificate and its key, as options for Twisted."""
        if self.key is None or not self.certificates:
            return {}
        if self.certificates[0].public_key() != self.key.public_key():
            raise ValueError("key and certificate do not belong together")
        first, *rest = map(crypto.X509.from_cryptography, self.certificates)
        key = crypto.PKey.from_cryptography_key(self.key)  # type: ignore[arg-type]
        return {"privateKey": key, "certificate": first, "extraCertChain": rest}


_creator = lru_cache(_HOSTS)(ClientTLS.make_creator)


@implementer(IOpenSSLClientConnectionCreator)
class _Creator:
    """Ensurer of connections to a host; the context determines whether it is verified."""

    def __init__(self, context: Any, host: str) -> None:
        self._context = context
        self._host = host

    def clientConnectionForTLS(self, _protocol: Any) -> Any:
        """Return a connection that sends the host's name, if it is a name."""
        connection = SSL.Connection(self._context, None)
        if not is_address(self._host):
            connection.set_tlsext_host_name(self._host.encode("idna"))
        return connection
