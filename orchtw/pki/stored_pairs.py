"""Certificate and key pairs of the data folder: reading, checks and renewal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from orchtw.errors import ConfigError
from orchtw.pki import certificates, files
from orchtw.pki.certificates import Authority

Issue = Callable[[ec.EllipticCurvePrivateKey], x509.Certificate]


class Pair(msgspec.Struct, frozen=True):
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def read_pair(folder: Path, name: str) -> Pair:
    """Read NAME.crt and NAME.key. Raises ConfigError if they cannot be read or do not match."""
    certificate = files.read_certificates(folder / f"{name}.crt", files.read_own)[0]
    key = read_key(folder / f"{name}.key")
    if not certificates.matches(certificate, key):
        raise ConfigError(f"{folder / name}.key: is not the key of {name}.crt")
    return Pair(certificate, key)


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Read an elliptic-curve key; others must have no permissions on its file. Raises ConfigError."""
    key = files.read_key(path, files.read_private)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigError(f"{path}: is not an elliptic-curve key")
    return key


def key_of(content: bytes, name: str) -> ec.EllipticCurvePrivateKey:
    """Parse an elliptic-curve key from PEM; `name` is for errors. Raises ConfigError."""
    key = files.read_key(Path(name), lambda path: content)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigError(f"{name}: is not an elliptic-curve key")
    return key


def serves(
    certificate: x509.Certificate, authority: Authority, now: datetime, hosts: tuple[str, ...] = ()
) -> bool:
    """Report whether a certificate of `authority` needs no renewal: it has all `hosts` and does not expire soon."""
    wanted = frozenset(map(certificates.canonical_host, hosts))
    end = min(now + certificates.RENEWAL, authority.certificate.not_valid_after_utc - certificates.CLOCK_SKEW)
    return not certificates.ends_before(certificate, end) and wanted <= certificates.hosts_of(certificate)


def renewed(folder: Path, name: str, authority: Authority, now: datetime, issue: Issue) -> Pair:
    """Return the named pair, with its certificate renewed for the same key if necessary. Raises ConfigError.

    Renewed is a certificate that expires soon or was issued by another authority.
    """
    pair = read_pair(folder, name)
    if certificates.issued_by(pair.certificate, authority.certificate) and serves(pair.certificate, authority, now):
        return pair
    fresh = issue(pair.key)
    files.replace(folder / f"{name}.crt", certificates.pem(fresh), files.PUBLIC_FILE)
    return Pair(fresh, pair.key)
