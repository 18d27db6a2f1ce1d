"""Front proxy: this server's client certificate for aggregated API servers, and its CA (reference AGG-4, AGG-7).

The CA signs nothing else, because its clients may assert any user in headers.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from orchtw.config.authentication import RequestHeaderOptions
from orchtw.config.cluster import AggregationOptions
from orchtw.errors import ConfigError
from orchtw.pki import certificates, files
from orchtw.pki.certificates import Authority

CA, CLIENT = "front-proxy-ca", "front-proxy-client"


class FrontProxy(msgspec.Struct, frozen=True, kw_only=True):
    """Client certificate chain and key, and the CA certificates published for aggregated servers.

    `generated`: the CA is this server's own, and has issued only CLIENT.
    """

    chain: tuple[x509.Certificate, ...]
    key: PrivateKeyTypes
    authorities: tuple[x509.Certificate, ...]
    generated: bool

    @property
    def authorities_pem(self) -> str:
        """Return the CA certificates as PEM."""
        return b"".join(map(certificates.pem, self.authorities)).decode()


def prepare(
    aggregation: AggregationOptions, request_header: RequestHeaderOptions, folder: Path, now: datetime
) -> FrontProxy:
    """Read the files given by flags, and the others from `folder`, where they are generated if missing.

    Raises ConfigError, naming the unusable file.
    """
    authority = _authority(folder, now)
    client, key = _client(folder, authority, now)
    shown = given(aggregation)
    authorities = given_authorities(request_header)
    return FrontProxy(
        chain=shown[0] if shown is not None else (client,),
        key=shown[1] if shown is not None else key,
        authorities=authorities or (() if shown is not None else (authority.certificate,)),
        generated=not authorities and shown is None,
    )


def given(options: AggregationOptions) -> tuple[tuple[x509.Certificate, ...], PrivateKeyTypes] | None:
    """Read `--proxy-client-cert-file` and `--proxy-client-key-file`, if given. Raises ConfigError."""
    if options.proxy_client_cert_file is None or options.proxy_client_key_file is None:
        return None
    chain = files.of_flag("proxy-client-cert-file", files.read_certificates, options.proxy_client_cert_file)
    key = files.of_flag("proxy-client-key-file", files.read_key, options.proxy_client_key_file)
    if not certificates.matches(chain[0], key):
        raise ConfigError(f"{options.proxy_client_key_file}: is not the key of {options.proxy_client_cert_file}")
    return chain, key


def given_authorities(options: RequestHeaderOptions) -> tuple[x509.Certificate, ...]:
    """Read the CA certificates of `--requestheader-client-ca-file`, empty without it. Raises ConfigError."""
    path = options.client_ca_file
    return () if path is None else files.of_flag("requestheader-client-ca-file", files.read_certificates, path)


def _authority(folder: Path, now: datetime) -> Authority:
    """Read the CA, or generate it if its certificate, which is written last, is missing. Raises ConfigError."""
    path = folder / f"{CA}.crt"
    if not path.exists() and not path.is_symlink():
        return _make(folder, now)
    certificate = files.read_certificates(path, files.read_own)[0]
    if certificates.ends_before(certificate, now):
        raise ConfigError(f"{path}: expired on {certificate.not_valid_after_utc:%Y-%m-%d}")
    return Authority(certificate, _key(folder, CA, certificate))


def new_files(now: datetime) -> dict[str, bytes]:
    """Generate a CA and its client certificate, as files by name. The CA certificate comes last: it marks completion.
    """
    authority = certificates.new_authority(CA, now)
    key = certificates.new_key()
    return {
        f"{CLIENT}.key": certificates.key_pem(key),
        f"{CLIENT}.crt": certificates.pem(_issue(authority, key, now)),
        f"{CA}.key": certificates.key_pem(authority.key),
        f"{CA}.crt": certificates.pem(authority.certificate),
    }


def _make(folder: Path, now: datetime) -> Authority:
    for name, content in new_files(now).items():
        _write(folder, name, content, files.PRIVATE_FILE if name.endswith(".key") else files.PUBLIC_FILE)
    return _authority(folder, now)


def _client(folder: Path, authority: Authority, now: datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Read the client certificate and key. A certificate that expires soon is renewed for the same key."""
    current = files.read_certificates(folder / f"{CLIENT}.crt", files.read_own)[0]
    key = _key(folder, CLIENT, current)
    end = min(now + certificates.RENEWAL, authority.certificate.not_valid_after_utc - certificates.CLOCK_SKEW)
    if certificates.issued_by(current, authority.certificate) and not certificates.ends_before(current, end):
        return current, key
    fresh = _issue(authority, key, now)
    _write(folder, f"{CLIENT}.crt", certificates.pem(fresh), files.PUBLIC_FILE)
    return fresh, key


def _issue(authority: Authority, key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    return certificates.issue(authority, key, CLIENT, certificates.CLIENT, now)


def _key(folder: Path, name: str, certificate: x509.Certificate) -> ec.EllipticCurvePrivateKey:
    path = folder / f"{name}.key"
    key = files.read_key(path, files.read_private)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigError(f"{path}: is not an elliptic-curve key")
    if not certificates.matches(certificate, key):
        raise ConfigError(f"{path}: is not the key of {name}.crt")
    return key


def _write(folder: Path, name: str, content: bytes, mode: int) -> None:
    files.replace(folder / name, content, mode)
