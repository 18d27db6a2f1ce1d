"""Certificates of a folder with their keys: read, checked, and issued anew when they no longer serve."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import attrs
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from orchtw.errors import ConfigError
from orchtw.pki import certificates, files
from orchtw.pki.certificates import Authority

Issue = Callable[[ec.EllipticCurvePrivateKey], x509.Certificate]


@attrs.frozen(slots=True)
class Pair:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def read_pair(folder: Path, name: str) -> Pair:
    """The files NAME.crt and NAME.key. Raises ConfigError for those that cannot be read or do not belong together."""
    certificate = files.read_certificates(folder / f"{name}.crt", files.read_own)[0]
    key = read_key(folder / f"{name}.key")
    if not certificates.matches(certificate, key):
        raise ConfigError(f"{folder / name}.key: is not the key of {name}.crt")
    return Pair(certificate, key)


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """A private key that only its owner may read. Raises ConfigError."""
    key = files.read_key(path, files.read_private)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigError(f"{path}: is not an elliptic-curve key")
    return key


def key_of(content: bytes, name: str) -> ec.EllipticCurvePrivateKey:
    """The private key that a file held elsewhere. Raises ConfigError."""
    key = files.read_key(Path(name), lambda path: content)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigError(f"{name}: is not an elliptic-curve key")
    return key


def serves(
    certificate: x509.Certificate, authority: Authority, now: datetime, hosts: tuple[str, ...] = ()
) -> bool:
    """Tell whether a certificate of `authority` need not be issued anew: it is for all of `hosts`, and not near its
    end.
    """
    wanted = frozenset(map(certificates.canonical_host, hosts))
    end = min(now + certificates.RENEWAL, authority.certificate.not_valid_after_utc - certificates.CLOCK_SKEW)
    return not certificates.ends_before(certificate, end) and wanted <= certificates.hosts_of(certificate)


def renewed(folder: Path, name: str, authority: Authority, now: datetime, issue: Issue) -> Pair:
    """The pair of that name; its certificate is issued anew, for the same key, when it no longer serves.

    It does not when it nears its end, or is another authority's. Raises ConfigError.
    """
    pair = read_pair(folder, name)
    if certificates.issued_by(pair.certificate, authority.certificate) and serves(pair.certificate, authority, now):
        return pair
    fresh = issue(pair.key)
    files.replace(folder / f"{name}.crt", certificates.pem(fresh), files.PUBLIC_FILE)
    return Pair(fresh, pair.key)
