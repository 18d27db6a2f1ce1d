"""Client certificate of this server towards aggregated API servers, signed by an authority of its own
(reference AGG-4, AGG-7).

The authority signs nothing else: its clients may name users in headers.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import attrs
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.pki import certificates, files
from orchtw.pki.certificates import Authority

CA, CLIENT = "front-proxy-ca", "front-proxy-client"


@attrs.frozen(slots=True, kw_only=True)
class FrontProxy:
    """The chain and key that are shown. `authorities` are what other servers are told to believe.

    `generated`: the authorities are this server's own, and vouch for CLIENT alone.
    """

    chain: tuple[x509.Certificate, ...]
    key: PrivateKeyTypes
    authorities: tuple[x509.Certificate, ...]
    generated: bool

    @property
    def authorities_pem(self) -> str:
        """The authorities as PEM text."""
        return b"".join(map(certificates.pem, self.authorities)).decode()


def prepare(config: Config, folder: Path, now: datetime) -> FrontProxy:
    """Read the files that flags name, and the others from `folder`, where missing ones are created.

    Raises ConfigError naming the file that cannot be used.
    """
    authority = _authority(folder, now)
    client, key = _client(folder, authority, now)
    shown = given(config)
    authorities = given_authorities(config)
    return FrontProxy(
        chain=shown[0] if shown is not None else (client,),
        key=shown[1] if shown is not None else key,
        authorities=authorities or (() if shown is not None else (authority.certificate,)),
        generated=not authorities and shown is None,
    )


def given(config: Config) -> tuple[tuple[x509.Certificate, ...], PrivateKeyTypes] | None:
    """`--proxy-client-cert-file` and `--proxy-client-key-file`, if given. Raises ConfigError."""
    if config.proxy_client_cert_file is None or config.proxy_client_key_file is None:
        return None
    chain = files.of_flag("proxy-client-cert-file", files.read_certificates, config.proxy_client_cert_file)
    key = files.of_flag("proxy-client-key-file", files.read_key, config.proxy_client_key_file)
    if not certificates.matches(chain[0], key):
        raise ConfigError(f"{config.proxy_client_key_file}: is not the key of {config.proxy_client_cert_file}")
    return chain, key


def given_authorities(config: Config) -> tuple[x509.Certificate, ...]:
    """Those of `--requestheader-client-ca-file`, none if it is not given. Raises ConfigError."""
    path = config.requestheader_client_ca_file
    return () if path is None else files.of_flag("requestheader-client-ca-file", files.read_certificates, path)


def _authority(folder: Path, now: datetime) -> Authority:
    """The authority; what was begun of one whose certificate has never been written is made anew."""
    path = folder / f"{CA}.crt"
    if not path.exists() and not path.is_symlink():
        return _make(folder, now)
    certificate = files.read_certificates(path, files.read_own)[0]
    if certificates.ends_before(certificate, now):
        raise ConfigError(f"{path}: expired on {certificate.not_valid_after_utc:%Y-%m-%d}")
    return Authority(certificate, _key(folder, CA, certificate))


def new_files(now: datetime) -> dict[str, bytes]:
    """A new authority and what it vouches for, as files by their names; the one that completes them comes last."""
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
    """The pair that is shown; a certificate that nears its end is renewed for the same key."""
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
