"""The serving certificate: the operator's own, or one that is made, in the data folder or in `--cert-dir`."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import ifaddr
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming import Naming
from orchtw.pki import certificates, files
from orchtw.pki.certificates import Authority
from orchtw.pki.stored_pairs import Pair, renewed

NAME = "apiserver"
CLUSTER_DOMAIN = "cluster.local"

ChainAndKey = tuple[tuple[x509.Certificate, ...], PrivateKeyTypes]


def given(config: Config, own: x509.Certificate) -> ChainAndKey | None:
    """The operator's own serving certificate and key; None: there are none, or `own`, an authority, has issued them.

    They are those of `--tls-cert-file` and `--tls-private-key-file`, else those that `--cert-dir` holds. Where they
    are is up to the operator, links and permissions included; but a key in the data folder is for the owner only, as
    the others there are. Raises ConfigError.
    """
    if config.tls_cert_file is not None and config.tls_private_key_file is not None:
        flags = "tls-cert-file", "tls-private-key-file"
        return _read_pair(config, flags, config.tls_cert_file, config.tls_private_key_file)
    paths = files_of(config)
    if not paths or not any(path.exists() for path in paths):
        return None
    chain, key = _read_pair(config, ("cert-dir",) * 2, *paths)
    return None if certificates.issued_by(chain[0], own) else (chain, key)


def files_of(config: Config) -> tuple[Path, ...]:
    """The certificate and the key that `--cert-dir` stands for; empty without it."""
    folder = config.cert_dir
    return () if folder is None else (folder / f"{NAME}.crt", folder / f"{NAME}.key")


def given_named(config: Config) -> list[tuple[tuple[x509.Certificate, ...], PrivateKeyTypes, tuple[str, ...]]]:
    """Chain, key and names of each `--tls-sni-cert-key`. Raises ConfigError."""
    flags = ("tls-sni-cert-key",) * 2
    return [
        (*_read_pair(config, flags, each.certificate, each.key), each.names) for each in config.tls_sni_cert_key
    ]


def _read_pair(config: Config, flags: tuple[str, str], certificate: Path, key_file: Path) -> ChainAndKey:
    chain = files.of_flag(flags[0], files.read_certificates, certificate)
    if key_file.absolute().is_relative_to(config.data_dir.absolute()):
        files.check_private(key_file)
    key = files.of_flag(flags[1], files.read_key, key_file)
    if not certificates.matches(chain[0], key):
        raise ConfigError(f"{key_file}: is not the key of {certificate}")
    return chain, key


def made(config: Config, folder: Path, authority: Authority, now: datetime, naming: Naming) -> Pair:
    """The generated pair: that of `folder`, or of `--cert-dir`, where it is made when it is not there yet.

    It is issued anew, for the same key, when a name of the server is new. Raises ConfigError.
    """
    names = hosts(config, naming)
    issue = partial(issued, authority, now=now, naming=naming, names=names)
    if config.cert_dir is not None:
        folder = files.make_folder(config.cert_dir)
        if not (folder / f"{NAME}.crt").exists():
            key = certificates.new_key()
            files.replace(folder / f"{NAME}.key", certificates.key_pem(key), files.PRIVATE_FILE)
            files.replace(folder / f"{NAME}.crt", certificates.pem(issue(key)), files.PUBLIC_FILE)
    return renewed(folder, NAME, authority, now, issue, names)


def issued(
    authority: Authority, key: ec.EllipticCurvePrivateKey, *, now: datetime, naming: Naming, names: tuple[str, ...]
) -> x509.Certificate:
    """A serving certificate for these names and addresses."""
    return certificates.issue(authority, key, naming.api_server, certificates.SERVER, now, hosts=names)


def hosts(config: Config, naming: Naming) -> tuple[str, ...]:
    """The names and addresses that a generated certificate is for.

    They are this machine's, the Service's in a cluster, those of `--tls-san` and `--external-hostname`; and, for a
    server that listens on all addresses, the machine's own name and the addresses of its interfaces.
    """
    service = naming.product
    names = ["localhost", service, f"{service}.default", f"{service}.default.svc"]
    names += [f"{service}.default.svc.{CLUSTER_DOMAIN}", "127.0.0.1", "::1", config.public_address]
    names += [config.bind_address, *filter(None, [config.external_hostname]), *config.tls_san]
    if ipaddress.ip_address(config.bind_address).is_unspecified:
        names += [socket.gethostname(), *_interface_addresses()]
    return tuple(dict.fromkeys(map(certificates.canonical_host, names)))


def _interface_addresses() -> Iterator[str]:
    """The addresses of this machine, without those that are only good together with an interface's name."""
    for adapter in ifaddr.get_adapters():
        for each in adapter.ips:
            text = each.ip if isinstance(each.ip, str) else each.ip[0]
            if not ipaddress.ip_address(text).is_link_local:
                yield text
