"""The TLS settings of a listener, made into OpenSSL contexts.

Client certificates are requested and never required; one from an unknown CA does not end the handshake,
so that the authenticator can answer 401 (PITFALLS 4, seed 2 §2). `verified` tells the two apart.
"""

from __future__ import annotations

from typing import Any, cast

import attrs
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from OpenSSL import SSL, crypto

from orchtw.cipher_suites import openssl_names
from orchtw.errors import ConfigError

# Flag values of the reference server; what is older than TLS 1.2 is not offered at all.
MIN_VERSIONS = {"VersionTLS12": SSL.TLS1_2_VERSION, "VersionTLS13": SSL.TLS1_3_VERSION}

_SSL: Any = SSL
# AES-128 before AES-256: less CPU a delivered byte, and no attack tells the two apart.
_TLS12_DEFAULT = "ECDHE+AES128+AESGCM:ECDHE+AESGCM:ECDHE+CHACHA20"
_TLS13 = b"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

# A thousand watches of one client share one parsed certificate; so many different ones are remembered.
_KEPT_CERTIFICATES = 1024


@attrs.frozen(slots=True, kw_only=True)
class TLSOptions:
    """What a TLS listener shows and whom it believes.

    `certificates` is the chain, the server's own first. Without `client_cas` no client certificate is asked for.
    `min_version` is a key of MIN_VERSIONS; `cipher_suites` are IANA names for TLS 1.2, empty = safe defaults.
    """

    certificates: tuple[x509.Certificate, ...]
    key: PrivateKeyTypes
    client_cas: tuple[x509.Certificate, ...] = ()
    min_version: str = "VersionTLS12"
    cipher_suites: tuple[str, ...] = ()


class ServingTLS:
    """The current context of a listener: finished before its first connection, replaced by `reload`.

    Raises ConfigError when key and certificate do not belong together.
    """

    def __init__(self, options: TLSOptions) -> None:
        self.context = build_context(options)
        self._certificates: dict[bytes, x509.Certificate] = {}

    def reload(self, options: TLSOptions) -> None:
        """Use `options` for the connections to come; when that fails (ConfigError), the old context stays."""
        self.context = build_context(options)

    def certificate_of(self, connection: Any) -> x509.Certificate | None:
        """The certificate that the client presented, or None; one object for all who present the same one."""
        found: x509.Certificate | None = connection.get_peer_certificate(as_cryptography=True)
        if found is None:
            return None
        if len(self._certificates) >= _KEPT_CERTIFICATES:
            self._certificates.clear()
        return self._certificates.setdefault(found.fingerprint(SHA256()), found)


def build_context(options: TLSOptions) -> SSL.Context:
    """Make a server context of `options`. Raises ConfigError."""
    context: Any = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(MIN_VERSIONS[options.min_version])
    # No tickets and no cache: a resumed session would skip the verification of the client certificate.
    context.set_options(SSL.OP_NO_TICKET | SSL.OP_NO_COMPRESSION | _SSL.OP_NO_RENEGOTIATION)
    context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE)
    # A client that ends its side by TCP alone is still answered; HTTP itself tells a request that was cut off.
    context.set_options(_SSL.OP_IGNORE_UNEXPECTED_EOF)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.set_cipher_list((openssl_names(options.cipher_suites) or _TLS12_DEFAULT).encode())
    context.set_tls13_ciphersuites(_TLS13)
    context.set_alpn_select_callback(_select_protocol)
    _use_key_pair(context, options)
    _trust(context, options.client_cas)
    return cast(SSL.Context, context)


def verified(connection: SSL.Connection) -> bool:
    """Whether the client's certificate chain ended in a configured CA, without any error on the way."""
    return connection.get_app_data() is True


def _note_verification(connection: SSL.Connection, _cert: object, _error: int, depth: int, ok: int) -> bool:
    # Returning True clears OpenSSL's error, and a later call may say ok: what went wrong once stays wrong.
    if not ok:
        connection.set_app_data(False)
    elif depth == 0 and connection.get_app_data() is None:
        connection.set_app_data(True)
    return True


def _select_protocol(_connection: SSL.Connection, offered: list[bytes]) -> object:
    return b"http/1.1" if b"http/1.1" in offered else SSL.NO_OVERLAPPING_PROTOCOLS


def _use_key_pair(context: Any, options: TLSOptions) -> None:
    try:
        context.use_certificate(options.certificates[0])
        for intermediate in options.certificates[1:]:
            context.add_extra_chain_cert(intermediate)
        context.use_privatekey(options.key)
        context.check_privatekey()
    except SSL.Error:
        raise ConfigError("the TLS private key does not belong to the serving certificate") from None


def _trust(context: Any, authorities: tuple[x509.Certificate, ...]) -> None:
    if not authorities:
        return
    store = context.get_cert_store()
    for authority in authorities:
        if store is not None:
            store.add_cert(crypto.X509.from_cryptography(authority))
        context.add_client_ca(authority)
    context.set_verify(SSL.VERIFY_PEER, _note_verification)
