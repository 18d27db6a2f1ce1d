"""OpenSSL contexts from the TLS settings of a listener.

Client certificates are requested and never required; one from an unknown CA, or one that cannot be read, does not
end the handshake, so that the authenticator can answer 401 (reference DESIGN-13). `verified` tells them apart.

Sessions are resumed by tickets that only the context which made them can read, so that other authorities, which
come with another context, end them all (reference AUTHN-15, AUTHN-53).
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import ExtendedKeyUsageOID, PublicKeyAlgorithmOID
from OpenSSL import SSL, crypto

from orchtw.config.cipher_suites import openssl_names
from orchtw.errors import ConfigError
from orchtw.request import UNREADABLE, UnreadableCertificate
from orchtw.serving.server_names import NamedPair, ServerNames

# Flag values of the reference server; what is older than TLS 1.2 is not offered at all.
MIN_VERSIONS = {"VersionTLS12": SSL.TLS1_2_VERSION, "VersionTLS13": SSL.TLS1_3_VERSION}

_SSL: Any = SSL
# AES-128 before AES-256: less CPU a delivered byte, and no attack tells the two apart.
_TLS12_DEFAULT = "ECDHE+AES128+AESGCM:ECDHE+AESGCM:ECDHE+CHACHA20"
_TLS13 = b"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

# Curves that TLS clients accept of a server, Go's among them.
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)

# What the verification of a client's chain has shown so far.
_PASSED, _DOUBTED, _FAILED = 1, 2, 4
_INVALID_PURPOSE = 26  # OpenSSL's X509_V_ERR_INVALID_PURPOSE
_CLIENT_USAGES = frozenset({ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})

# A thousand watches of one client share one parsed certificate; this many different ones are remembered.
_KEPT_CERTIFICATES = 1024

# How many certificates a context has verified before another one takes its place.
BELIEVED = 16_384

# For so long a session can be resumed; a client that comes more often gets new tickets each time.
_SESSION_S = 3600


class TLSOptions(msgspec.Struct, frozen=True, kw_only=True):
    """TLS settings of a listener: certificates and trusted client authorities.

    `certificates` is the chain, the server's own first. Without `client_cas` no client certificate is requested.
    Certificates of the `announced_cas` are requested as well, and verified outside of TLS. `named` are for clients
    that ask for their names. `min_version` is a key of MIN_VERSIONS; `cipher_suites` are IANA names for TLS 1.2,
    empty = safe defaults. `protocols` are those offered above TLS, the preferred one first.
    """

    certificates: tuple[x509.Certificate, ...]
    key: PrivateKeyTypes
    client_cas: tuple[x509.Certificate, ...] = ()
    announced_cas: tuple[x509.Certificate, ...] = ()
    named: tuple[NamedPair, ...] = ()
    min_version: str = "VersionTLS12"
    cipher_suites: tuple[str, ...] = ()
    protocols: tuple[bytes, ...] = (b"http/1.1",)


Shown = x509.Certificate | UnreadableCertificate | None
"""Certificate of a client: valid, unreadable, or none."""


class ServingContext(SSL.Context):
    """Server context; `believed` are the digests of the client certificates that it has verified."""

    def __init__(self) -> None:
        super().__init__(SSL.TLS_SERVER_METHOD)
        self.believed: set[bytes] = set()


class ServingTLS:
    """Current context of a listener: finished before its first connection, replaced by `reload`.

    Raises ConfigError when key and certificate do not belong together.
    """

    def __init__(self, options: TLSOptions) -> None:
        self.reload(options)
        self._certificates: dict[bytes, x509.Certificate] = {}

    def reload(self, options: TLSOptions) -> None:
        """Use `options` for the connections to come; when that fails (ConfigError), the old context stays."""
        self.context = _with_names(build_context(options), options)
        self._options = options

    @property
    def client_cas(self) -> tuple[x509.Certificate, ...]:
        """The authorities of clients at present."""
        return self._options.client_cas

    def renew(self) -> None:
        """Begin again with other keys for tickets: no session of before is resumed."""
        self.reload(self._options)

    def identity_of(self, connection: Any) -> tuple[Shown, bool]:
        """Return the certificate of the client's session, and True if it was verified.

        All connections with the same verified certificate share one object; unverified ones are not cached.
        """
        try:
            found: x509.Certificate | None = connection.get_peer_certificate(as_cryptography=True)
            digest = b"" if found is None else found.fingerprint(SHA256())
        except Exception:  # noqa: BLE001 - OpenSSL accepts more than the parser knows, and that raises what it likes
            return UNREADABLE, False
        if found is None or not self._believes(connection, digest):
            return found, False
        if len(self._certificates) >= _KEPT_CERTIFICATES:
            self._certificates.clear()
        return self._certificates.setdefault(digest, found), True

    def _believes(self, connection: Any, digest: bytes) -> bool:
        """Report whether the certificate is verified: now, or by this context when the session began."""
        context = connection.get_context()
        if verified(connection):
            context.believed.add(digest)
            if len(context.believed) >= BELIEVED and context.believed is self.context.believed:
                self.renew()
            return True
        # A handshake that is not a resumed one verifies what it is shown.
        return connection.get_app_data() is None and digest in context.believed


def _with_names(context: ServingContext, options: TLSOptions) -> ServingContext:
    """Return the context with the choice by server name. Raises ConfigError."""
    if not options.named:
        return context
    pairs = []
    for pair in options.named:
        own = msgspec.structs.replace(options, certificates=pair.certificates, key=pair.key, named=())
        other = build_context(own)
        other.believed = context.believed
        pairs.append((pair, other))
    context.set_tlsext_servername_callback(ServerNames(pairs).choose)
    return context


def build_context(options: TLSOptions) -> ServingContext:
    """Make a server context of `options`. Raises ConfigError."""
    context: Any = ServingContext()
    context.set_min_proto_version(MIN_VERSIONS[options.min_version])
    context.set_options(SSL.OP_NO_COMPRESSION | _SSL.OP_NO_RENEGOTIATION | SSL.OP_CIPHER_SERVER_PREFERENCE)
    # A client that ends its side by TCP alone is still answered; HTTP itself tells a request that was cut off.
    context.set_options(_SSL.OP_IGNORE_UNEXPECTED_EOF)
    # Tickets, which cost the server no memory; those of another context cannot be read.
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_session_id(b"orchtw")
    context.set_timeout(_SESSION_S)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.set_cipher_list((openssl_names(options.cipher_suites) or _TLS12_DEFAULT).encode())
    context.set_tls13_ciphersuites(_TLS13)
    context.set_alpn_select_callback(partial(_select_protocol, options.protocols))
    _use_key_pair(context, options)
    _trust(context, options.client_cas)
    for authority in options.announced_cas:
        context.add_client_ca(authority)
    return cast(ServingContext, context)


def verified(connection: SSL.Connection) -> bool:
    """Report whether in this handshake the client's certificate chain ended in a configured CA, without any error.

    Purposes count as in the reference server's verifier: extended key usage alone decides, and one that names any
    purpose is fine.
    """
    seen = connection.get_app_data()
    return seen == _PASSED or (seen == _PASSED | _DOUBTED and _made_for_clients(connection))


def _note_verification(connection: SSL.Connection, _cert: object, error: int, depth: int, ok: int) -> bool:
    # Returning True clears OpenSSL's error, and a later call may say ok: what went wrong once stays wrong.
    seen = connection.get_app_data() or 0
    if not ok:
        seen |= _DOUBTED if error == _INVALID_PURPOSE else _FAILED
    elif depth == 0:
        seen |= _PASSED
    connection.set_app_data(seen)
    return True


def _made_for_clients(connection: Any) -> bool:
    """Report whether every certificate of the verified chain that limits its purposes allows clients."""
    try:
        chain: list[x509.Certificate] = connection.get_verified_chain(as_cryptography=True) or []
        return bool(chain) and all(map(_allows_clients, chain))
    except Exception:  # noqa: BLE001 - what cannot be read allows nothing
        return False


def _allows_clients(certificate: x509.Certificate) -> bool:
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return not _CLIENT_USAGES.isdisjoint(usages)


def _select_protocol(ours: tuple[bytes, ...], _connection: SSL.Connection, offered: list[bytes]) -> object:
    return next((each for each in ours if each in offered), SSL.NO_OVERLAPPING_PROTOCOLS)


def _use_key_pair(context: Any, options: TLSOptions) -> None:
    _check_kind(options.certificates[0], options.key)
    try:
        context.use_certificate(options.certificates[0])
        for intermediate in options.certificates[1:]:
            context.add_extra_chain_cert(intermediate)
        context.use_privatekey(options.key)
        context.check_privatekey()
    except SSL.Error as problem:
        raise ConfigError(f"the serving certificate and its key cannot be used: {_reason(problem)}") from None


def _check_kind(certificate: x509.Certificate, key: PrivateKeyTypes) -> None:
    """Refuse what OpenSSL loads and no handshake succeeds with. Raises ConfigError."""
    kind = ""
    if isinstance(key, ec.EllipticCurvePrivateKey) and not isinstance(key.curve, _CURVES):
        kind = f"of curve {key.curve.name}"
    elif isinstance(key, dsa.DSAPrivateKey):
        kind = "for DSA"
    elif certificate.public_key_algorithm_oid == PublicKeyAlgorithmOID.RSASSA_PSS:
        kind = "for RSASSA-PSS only"
    if kind:
        raise ConfigError(
            f"the serving certificate has a key {kind}, which TLS clients do not accept; "
            "use P-256, P-384, P-521, Ed25519 or RSA"
        )


def _reason(problem: SSL.Error) -> str:
    """Return OpenSSL's reason, such as `key values mismatch`."""
    stack = problem.args[0] if problem.args else ()
    return ", ".join(dict.fromkeys(entry[-1] for entry in stack)) or "OpenSSL gives no reason"


def _trust(context: Any, authorities: tuple[x509.Certificate, ...]) -> None:
    if not authorities:
        return
    store = context.get_cert_store()
    # An intermediate by itself is as good an anchor as a root.
    store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)
    for authority in authorities:
        store.add_cert(crypto.X509.from_cryptography(authority))
        context.add_client_ca(authority)
    context.set_verify(SSL.VERIFY_PEER, _note_verification)
