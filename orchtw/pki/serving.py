"""Serving certificate: the operator's, or a generated one in the data folder or `--cert-dir` (reference FLAG-17)."""

from __future__ import annotations

import ipaddress
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import NameOID
from twisted.logger import Logger

from orchtw.config.hosts import split_host
from orchtw.config.serving import ServingOptions
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki import certificates, files, machine
from orchtw.pki.certificates import Authority
from orchtw.pki.given_pairs import Chain, GivenPair
from orchtw.pki.stored_pairs import serves

NAME: Final = "apiserver"
"""Base name of both files, in the data folder's `pki` and in `--cert-dir`."""

CLUSTER_DOMAIN: Final = "cluster.local"
_FLAG: Final = "cert-dir"
_SERVERS: Final = frozenset(naming.api_server for naming in (Naming.orch(), Naming.kubernetes()))

_log = Logger()


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """Serving certificate chain, leaf first, and its key.

    `made` is False for the operator's own. `files` are followed for changes while the server runs.
    """

    chain: Chain
    key: PrivateKeyTypes
    made: bool = True
    files: GivenPair | None = None


class _Making(msgspec.Struct, frozen=True, kw_only=True):
    """CA, names and time for generated certificates."""

    authority: Authority
    naming: Naming
    names: tuple[str, ...]
    now: datetime

    def ours(self, certificate: x509.Certificate) -> bool:
        """Report whether the certificate was generated with this CA, and so may be replaced."""
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        known = any(name.value in _SERVERS for name in names)
        return known and certificates.issued_by(certificate, self.authority.certificate)

    def serves(self, certificate: x509.Certificate) -> bool:
        """Report whether the certificate has all names and does not expire soon."""
        return serves(certificate, self.authority, self.now, self.names)

    def issue(self, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        """Issue a certificate for the server's key."""
        return issued(self.authority, key, now=self.now, naming=self.naming, names=self.names)


def prepare(
    options: ServingOptions, data: Path, naming: Naming, folder: Path, authority: Authority, now: datetime
) -> Serving:
    """Read the server's certificate and key: the files of the flags, else those in `--cert-dir`, else in `folder`.

    In `--cert-dir` they are generated if both are missing. A generated certificate is renewed for the same key if it
    expires soon or lacks a name; the operator's own is never changed. Raises ConfigError.
    """
    pair = given(options, data)
    if pair is not None:
        chain, key = pair.read()
        _warn_of_names(options, pair.certificate, chain[0])
        return Serving(chain=chain, key=key, made=False, files=pair)
    making = _Making(authority=authority, naming=naming, names=hosts(options, naming), now=now)
    if options.cert_dir is None:
        return _kept(options, data, folder, making)
    place = files.of_flag(_FLAG, lambda path: _cert_dir(path, making), options.cert_dir)
    return _kept(options, data, place, making, flag=_FLAG if place != folder else "")


def _cert_dir(path: Path, making: _Making) -> Path:
    """Create the folder if necessary, and generate both files if neither exists. Raises ConfigError."""
    place = files.make_folder(path)
    certificate, key = (place / f"{NAME}{suffix}" for suffix in (".crt", ".key"))
    there = [each for each in (certificate, key) if each.exists()]
    if len(there) == 1:
        missing = certificate if there[0] == key else key
        raise ConfigError(
            f"{missing}: No such file, though {there[0].name} exists; if both are missing, both are generated"
        )
    if not there:
        fresh = certificates.new_key()
        files.replace(key, certificates.key_pem(fresh), files.PRIVATE_FILE)
        files.replace(certificate, certificates.pem(making.issue(fresh)), files.PUBLIC_FILE)
    return place


def _kept(options: ServingOptions, data: Path, place: Path, making: _Making, *, flag: str = "") -> Serving:
    """Read the folder's certificate and key; renew a generated certificate if necessary. Raises ConfigError.

    Without a `flag` the folder is the server's own: links and permissions for others are rejected.
    """
    file, key_file = place / f"{NAME}.crt", place / f"{NAME}.key"
    pair = GivenPair(certificate=file, key=key_file, private=data, flags=(flag, flag))
    if flag:
        chain, key = pair.read()
    else:
        chain, key = files.read_certificates(file, files.read_own), files.read_key(key_file, files.read_private)
    if not certificates.matches(chain[0], key):
        raise ConfigError(f"{key_file}: is not the key of {file.name}")
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not making.ours(chain[0]):
        _warn_of_names(options, file, chain[0])
        return Serving(chain=chain, key=key, made=False, files=pair)
    if not making.serves(chain[0]):
        chain = (making.issue(key),)
        files.replace(file, certificates.pem(chain[0]), files.PUBLIC_FILE)
    return Serving(chain=chain, key=key, files=pair if flag else None)


def given(options: ServingOptions, data: Path) -> GivenPair | None:
    """Return the files of `--tls-cert-file` and `--tls-private-key-file`, if given."""
    if options.tls.cert_file is None or options.tls.private_key_file is None:
        return None
    return GivenPair(
        flags=("tls-cert-file", "tls-private-key-file"),
        certificate=options.tls.cert_file,
        key=options.tls.private_key_file,
        private=data,
    )


def given_named(options: ServingOptions, data: Path) -> list[tuple[Chain, PrivateKeyTypes, tuple[str, ...]]]:
    """Read chain, key and names of each `--tls-sni-cert-key`. Raises ConfigError."""
    flags = ("tls-sni-cert-key",) * 2
    pairs = [
        (GivenPair(flags=flags, certificate=each.certificate, key=each.key, private=data), each.names)
        for each in options.tls.sni_cert_key
    ]
    return [(*pair.read(), names) for pair, names in pairs]


def issued(
    authority: Authority, key: ec.EllipticCurvePrivateKey, *, now: datetime, naming: Naming, names: tuple[str, ...]
) -> x509.Certificate:
    """Issue a serving certificate for these names and addresses."""
    return certificates.issue(authority, key, naming.api_server, certificates.SERVER, now, hosts=names)


def hosts(options: ServingOptions, naming: Naming) -> tuple[str, ...]:
    """Return the names and addresses for a generated certificate.

    These are loopback, the bind and advertise addresses, the names of the server's Service, `--tls-san` and
    `--external-hostname`; for a server that listens on all interfaces also the host name and interface addresses.
    """
    service = naming.product
    names = ["localhost", service, f"{service}.default", f"{service}.default.svc"]
    names += [f"{service}.default.svc.{CLUSTER_DOMAIN}", "127.0.0.1", "::1", options.public_address]
    names += [options.bind_address, *_of_flags(options)]
    if ipaddress.ip_address(options.bind_address).is_unspecified:
        names += [*machine.host_names(), *machine.addresses()]
    return tuple(dict.fromkeys(map(certificates.canonical_host, names)))


def _of_flags(options: ServingOptions) -> tuple[str, ...]:
    external = (split_host(options.external_hostname)[0],) if options.external_hostname else ()
    return (*external, *options.tls.san)


def _warn_of_names(options: ServingOptions, file: Path, certificate: x509.Certificate) -> None:
    """Log the names given by flags that the operator's own certificate lacks."""
    lacking = [name for name in _of_flags(options) if not certificates.covers(certificate, name)]
    if lacking:
        text = "{file}: does not cover {names}, and is kept: the server replaces only certificates that it generated"
        _log.warn(text, file=str(file), names=", ".join(lacking))
