"""The serving certificate: the operator's own, or one that is made, in the data folder or in `--cert-dir`
(reference FLAG-17).
"""

from __future__ import annotations

import ipaddress
from datetime import datetime
from pathlib import Path
from typing import Final

import attrs
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import NameOID
from twisted.logger import Logger

from orchtw.config import Config
from orchtw.config.hosts import split_host
from orchtw.errors import ConfigError
from orchtw.naming.names import Naming
from orchtw.pki import certificates, files, machine
from orchtw.pki.certificates import Authority
from orchtw.pki.given_pairs import Chain, GivenPair
from orchtw.pki.stored_pairs import serves

NAME: Final = "apiserver"
"""Of both files, in the data folder's `pki` and in `--cert-dir`."""

CLUSTER_DOMAIN: Final = "cluster.local"
_FLAG: Final = "cert-dir"
_SERVERS: Final = frozenset(naming.api_server for naming in (Naming.orch(), Naming.kubernetes()))

_log = Logger()


@attrs.frozen(slots=True, kw_only=True)
class Serving:
    """The certificates that clients are shown, the server's own first, and its key.

    `made` is False for the operator's own. `files` are where they may change while the server runs.
    """

    chain: Chain
    key: PrivateKeyTypes
    made: bool = True
    files: GivenPair | None = None


@attrs.frozen(slots=True, kw_only=True)
class _Making:
    """The authority and the names that a certificate is made with."""

    authority: Authority
    naming: Naming
    names: tuple[str, ...]
    now: datetime

    def ours(self, certificate: x509.Certificate) -> bool:
        """Tell whether a server of this authority has made the certificate, and so may replace it."""
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        known = any(name.value in _SERVERS for name in names)
        return known and certificates.issued_by(certificate, self.authority.certificate)

    def serves(self, certificate: x509.Certificate) -> bool:
        """Tell whether the certificate is for all names, and lasts long enough."""
        return serves(certificate, self.authority, self.now, self.names)

    def issue(self, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        """Issue a certificate for the server's key."""
        return issued(self.authority, key, now=self.now, naming=self.naming, names=self.names)


def prepare(config: Config, naming: Naming, folder: Path, authority: Authority, now: datetime) -> Serving:
    """Read the server's certificate and key: the files of the flags, else those in `--cert-dir`, else in `folder`.

    In `--cert-dir` they are made where both are missing. A certificate that was made is issued anew for the same key
    when it nears its end or lacks a name; one of the operator's is never touched. Raises ConfigError.
    """
    pair = given(config)
    if pair is not None:
        chain, key = pair.read()
        _warn_of_names(config, pair.certificate, chain[0])
        return Serving(chain=chain, key=key, made=False, files=pair)
    making = _Making(authority=authority, naming=naming, names=hosts(config, naming), now=now)
    if config.cert_dir is None:
        return _kept(config, folder, making)
    place = files.of_flag(_FLAG, lambda path: _cert_dir(path, making), config.cert_dir)
    return _kept(config, place, making, flag=_FLAG if place != folder else "")


def _cert_dir(path: Path, making: _Making) -> Path:
    """Find the folder, and make both files if neither is there. Raises ConfigError."""
    place = files.make_folder(path)
    certificate, key = (place / f"{NAME}{suffix}" for suffix in (".crt", ".key"))
    there = [each for each in (certificate, key) if each.exists()]
    if len(there) == 1:
        missing = certificate if there[0] == key else key
        raise ConfigError(f"{missing}: No such file; {there[0].name} is used with it, or both are made")
    if not there:
        fresh = certificates.new_key()
        files.replace(key, certificates.key_pem(fresh), files.PRIVATE_FILE)
        files.replace(certificate, certificates.pem(making.issue(fresh)), files.PUBLIC_FILE)
    return place


def _kept(config: Config, place: Path, making: _Making, *, flag: str = "") -> Serving:
    """Take what is in the folder, its certificate issued anew if it was made and no longer serves.

    Without the name of a `flag` the folder is the server's: links and permissions of others are refused there.
    """
    file, key_file = place / f"{NAME}.crt", place / f"{NAME}.key"
    pair = GivenPair(certificate=file, key=key_file, private=config.data_dir, flags=(flag, flag))
    if flag:
        chain, key = pair.read()
    else:
        chain, key = files.read_certificates(file, files.read_own), files.read_key(key_file, files.read_private)
    if not certificates.matches(chain[0], key):
        raise ConfigError(f"{key_file}: is not the key of {file.name}")
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not making.ours(chain[0]):
        _warn_of_names(config, file, chain[0])
        return Serving(chain=chain, key=key, made=False, files=pair)
    if not making.serves(chain[0]):
        chain = (making.issue(key),)
        files.replace(file, certificates.pem(chain[0]), files.PUBLIC_FILE)
    return Serving(chain=chain, key=key, files=pair if flag else None)


def given(config: Config) -> GivenPair | None:
    """Return the files of `--tls-cert-file` and `--tls-private-key-file`, if given."""
    if config.tls_cert_file is None or config.tls_private_key_file is None:
        return None
    return GivenPair(
        flags=("tls-cert-file", "tls-private-key-file"),
        certificate=config.tls_cert_file,
        key=config.tls_private_key_file,
        private=config.data_dir,
    )


def given_named(config: Config) -> list[tuple[Chain, PrivateKeyTypes, tuple[str, ...]]]:
    """Read chain, key and names of each `--tls-sni-cert-key`. Raises ConfigError."""
    flags = ("tls-sni-cert-key",) * 2
    pairs = [
        (GivenPair(flags=flags, certificate=each.certificate, key=each.key, private=config.data_dir), each.names)
        for each in config.tls_sni_cert_key
    ]
    return [(*pair.read(), names) for pair, names in pairs]


def issued(
    authority: Authority, key: ec.EllipticCurvePrivateKey, *, now: datetime, naming: Naming, names: tuple[str, ...]
) -> x509.Certificate:
    """Issue a serving certificate for these names and addresses."""
    return certificates.issue(authority, key, naming.api_server, certificates.SERVER, now, hosts=names)


def hosts(config: Config, naming: Naming) -> tuple[str, ...]:
    """List the names and addresses that a generated certificate is for.

    They are this machine's, the Service's in a cluster, those of `--tls-san` and `--external-hostname`; and, for a
    server that listens on all addresses, the machine's own name and the addresses of its interfaces.
    """
    service = naming.product
    names = ["localhost", service, f"{service}.default", f"{service}.default.svc"]
    names += [f"{service}.default.svc.{CLUSTER_DOMAIN}", "127.0.0.1", "::1", config.public_address]
    names += [config.bind_address, *_of_flags(config)]
    if ipaddress.ip_address(config.bind_address).is_unspecified:
        names += [*machine.host_names(), *machine.addresses()]
    return tuple(dict.fromkeys(map(certificates.canonical_host, names)))


def _of_flags(config: Config) -> tuple[str, ...]:
    external = (split_host(config.external_hostname)[0],) if config.external_hostname else ()
    return (*external, *config.tls_san)


def _warn_of_names(config: Config, file: Path, certificate: x509.Certificate) -> None:
    """Say which of the names that flags ask for the operator's own certificate lacks."""
    lacking = [name for name in _of_flags(config) if not certificates.covers(certificate, name)]
    if lacking:
        text = "{file}: is not for {names}, and is left as it is: a certificate of your own is never made anew"
        _log.warn(text, file=str(file), names=", ".join(lacking))
