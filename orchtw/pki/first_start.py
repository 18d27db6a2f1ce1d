"""First start and every later one: what the server needs in keys and certificates, made, checked or renewed.

The folder `pki` appears complete or not at all, and single files are only ever replaced whole, so a crash
cannot leave half of it. What an operator damaged is named, never silently made anew: a new CA would lock out
every client.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import attrs
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from twisted.logger import Logger

from orchtw.config import Config, host_and_port
from orchtw.errors import ConfigError
from orchtw.naming import Naming
from orchtw.pki import certificates, files, front_proxy, kubeconfig
from orchtw.pki.certificates import Authority
from orchtw.pki.front_proxy import FrontProxy
from orchtw.pki.issuing import SigningAuthority

FOLDER, KUBECONFIG = "pki", "admin.kubeconfig"
CA, SERVING, ADMIN, SERVICE_ACCOUNT = "ca", "apiserver", "admin", "sa"
CLUSTER_DOMAIN = "cluster.local"

_log = Logger()


@attrs.frozen(slots=True, kw_only=True)
class Pki:
    """Everything the composition root hands on: to TLS, to authentication, to the operator.

    `serving_chain` starts with the server's own certificate. `ca_pem` is what a client needs to trust the
    server. `client_cas` are the authorities whose client certificates are believed; `own` is the folder's.
    `common_key` is the private key that servers of one store have in common: that of their accounts' tokens.
    """

    ca_pem: bytes
    serving_chain: tuple[x509.Certificate, ...]
    serving_key: PrivateKeyTypes
    client_cas: tuple[x509.Certificate, ...]
    service_account_key: ec.EllipticCurvePrivateKey
    common_key: PrivateKeyTypes
    front_proxy: FrontProxy
    kubeconfig: Path
    own: Authority

    @property
    def client_ca_pem(self) -> str:
        """The authorities of client certificates as PEM text."""
        return b"".join(map(certificates.pem, self.client_cas)).decode()

    @property
    def own_signing(self) -> SigningAuthority | None:
        """The folder's authority as signer of requests; None where its client certificates are not believed."""
        own = self.own
        return SigningAuthority(own.certificate, own.key) if own.certificate in self.client_cas else None

    def derived_key(self, purpose: bytes) -> bytes:
        """A secret of 32 bytes for one purpose, the same in every process that signs accounts' tokens alike."""
        secret = self.common_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret)


@attrs.frozen(slots=True)
class _Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def prepare(config: Config, naming: Naming, port: int, now: datetime) -> Pki:
    """The server's keys and certificates, and `admin.kubeconfig` for the address and the real `port`.

    Made where missing as a whole; a serving certificate that nears its end or lacks an address is renewed.
    `now` is an aware time. Raises ConfigError naming the file that is damaged, missing or not accessible.
    """
    data = files.make_folder(config.data_dir)
    folder = data / FOLDER
    files.refuse_link(folder)
    hosts = _hosts(config, naming)
    if not folder.is_dir() or not any(folder.iterdir()):
        files.write_folder(folder, _first_files(naming, hosts, now))
    for each in (data, folder):
        files.warn_of_rights(each)
    authority = _authority(folder, now)
    serving = _renewed(folder, SERVING, authority, now, naming, hosts)
    admin = _renewed(folder, ADMIN, authority, now, naming, ())
    chain, key = given(config) or ((serving.certificate,), serving.key)
    ca_pem = certificates.pem(authority.certificate)
    trust = b"".join(map(certificates.pem, chain)) if config.tls_cert_file else ca_pem
    client_cas = given_client_cas(config) or (authority.certificate,)
    server = f"https://{host_and_port(config.public_address, port)}"
    account_key = _key(folder / f"{SERVICE_ACCOUNT}.key")
    _write_kubeconfig(data / KUBECONFIG, server, naming, trust, admin)
    return Pki(
        ca_pem=trust,
        serving_chain=chain,
        serving_key=key,
        client_cas=client_cas,
        service_account_key=account_key,
        common_key=given_signing_key(config) or account_key,
        front_proxy=front_proxy.prepare(config, folder, now),
        kubeconfig=config.data_dir / KUBECONFIG,
        own=authority,
    )


def _first_files(naming: Naming, hosts: tuple[str, ...], now: datetime) -> dict[str, tuple[bytes, int]]:
    """Name, content and mode of each file of a fresh `pki` folder."""
    authority = certificates.new_authority(f"{naming.product}-ca", now)
    keys = {name: certificates.new_key() for name in (SERVING, ADMIN, SERVICE_ACCOUNT)} | {CA: authority.key}
    made = {
        CA: authority.certificate,
        SERVING: _issue(SERVING, authority, keys[SERVING], now, naming, hosts),
        ADMIN: _issue(ADMIN, authority, keys[ADMIN], now, naming, ()),
    }
    contents = {f"{name}.key": (certificates.key_pem(key), files.PRIVATE_FILE) for name, key in keys.items()}
    contents |= {f"{name}.crt": (certificates.pem(made[name]), files.PUBLIC_FILE) for name in made}
    contents[f"{SERVICE_ACCOUNT}.pub"] = (certificates.public_pem(keys[SERVICE_ACCOUNT]), files.PUBLIC_FILE)
    return contents


def _issue(
    name: str,
    authority: Authority,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    naming: Naming,
    hosts: tuple[str, ...],
) -> x509.Certificate:
    if name == ADMIN:
        user, groups = naming.administrator_user, (naming.administrators_group,)
        return certificates.issue(authority, key, user, certificates.CLIENT, now, organizations=groups)
    return certificates.issue(authority, key, naming.api_server, certificates.SERVER, now, hosts=hosts)


def _authority(folder: Path, now: datetime) -> Authority:
    pair = _pair(folder, CA)
    if certificates.ends_before(pair.certificate, now):
        raise ConfigError(f"{folder / CA}.crt: expired on {pair.certificate.not_valid_after_utc:%Y-%m-%d}")
    return Authority(pair.certificate, pair.key)


def _renewed(
    folder: Path, name: str, authority: Authority, now: datetime, naming: Naming, hosts: tuple[str, ...]
) -> _Pair:
    """The pair of that name; its certificate is issued anew, for the same key, when it no longer serves."""
    pair = _pair(folder, name)
    current = pair.certificate
    wanted = frozenset(map(certificates.canonical_host, hosts))
    end = min(now + certificates.RENEWAL, authority.certificate.not_valid_after_utc - certificates.CLOCK_SKEW)
    if (
        certificates.issued_by(current, authority.certificate)
        and not certificates.ends_before(current, end)
        and wanted <= certificates.hosts_of(current)
    ):
        return pair
    fresh = _issue(name, authority, pair.key, now, naming, hosts)
    files.replace(folder / f"{name}.crt", certificates.pem(fresh), files.PUBLIC_FILE)
    return _Pair(fresh, pair.key)


def stored_pair(folder: Path, name: str) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A certificate of the folder with its key. Raises ConfigError."""
    pair = _pair(folder, name)
    return pair.certificate, pair.key


def _pair(folder: Path, name: str) -> _Pair:
    certificate = files.read_certificates(folder / f"{name}.crt", files.read_own)[0]
    key = _key(folder / f"{name}.key")
    if not certificates.matches(certificate, key):
        raise ConfigError(f"{folder / name}.key: is not the key of {name}.crt")
    return _Pair(certificate, key)


def _key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = files.read_key(path, files.read_private)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigError(f"{path}: is not an elliptic-curve key")
    return key


def given(config: Config) -> tuple[tuple[x509.Certificate, ...], PrivateKeyTypes] | None:
    """The operator's own serving certificate and key (`--tls-cert-file`, `--tls-private-key-file`), if given.

    Where those are is up to the operator, links and permissions included; but a key in the data folder is for the
    owner only, as the others there are. Raises ConfigError.
    """
    if config.tls_cert_file is None or config.tls_private_key_file is None:
        return None
    flags = "tls-cert-file", "tls-private-key-file"
    return _read_pair(config, flags, config.tls_cert_file, config.tls_private_key_file)


def given_named(config: Config) -> list[tuple[tuple[x509.Certificate, ...], PrivateKeyTypes, tuple[str, ...]]]:
    """Chain, key and names of each `--tls-sni-cert-key`. Raises ConfigError."""
    flags = ("tls-sni-cert-key",) * 2
    return [
        (*_read_pair(config, flags, each.certificate, each.key), each.names) for each in config.tls_sni_cert_key
    ]


def _read_pair(
    config: Config, flags: tuple[str, str], certificate: Path, key_file: Path
) -> tuple[tuple[x509.Certificate, ...], PrivateKeyTypes]:
    chain = files.of_flag(flags[0], files.read_certificates, certificate)
    if key_file.absolute().is_relative_to(config.data_dir.absolute()):
        files.check_private(key_file)
    key = files.of_flag(flags[1], files.read_key, key_file)
    if not certificates.matches(chain[0], key):
        raise ConfigError(f"{key_file}: is not the key of {certificate}")
    return chain, key


def given_client_cas(config: Config) -> tuple[x509.Certificate, ...]:
    """The authorities of `--client-ca-file`, none if it is not given. Raises ConfigError."""
    path = config.client_ca_file
    return () if path is None else files.of_flag("client-ca-file", files.read_certificates, path)


def given_signing_key(config: Config) -> PrivateKeyTypes | None:
    """The key of `--service-account-signing-key-file`, if it is given. Raises ConfigError."""
    path = config.service_account_signing_key_file
    return None if path is None else files.of_flag("service-account-signing-key-file", files.read_key, path)


def _hosts(config: Config, naming: Naming) -> tuple[str, ...]:
    """What the serving certificate is good for: this machine, its addresses, and the in-cluster service names."""
    service = naming.product
    names = ("localhost", service, f"{service}.default", f"{service}.default.svc")
    addresses = ("127.0.0.1", "::1", config.public_address, config.bind_address)
    return tuple(dict.fromkeys((*names, f"{service}.default.svc.{CLUSTER_DOMAIN}", *addresses)))


def _write_kubeconfig(path: Path, server: str, naming: Naming, ca_pem: bytes, admin: _Pair) -> None:
    """Write the administrator's file unless it already says the same, to the owner only."""
    content = kubeconfig.compose(
        cluster=naming.product,
        user=naming.administrator_user,
        server=server,
        ca_pem=ca_pem,
        certificate_pem=certificates.pem(admin.certificate),
        key_pem=certificates.key_pem(admin.key),
    )
    files.refuse_link(path)
    there = path.is_file()
    if there and not files.is_private(path):
        _log.warn("{path}: others had rights on the administrator's file, who have no more", path=str(path))
    elif there and files.read_own(path) == content:
        return
    files.replace(path, content, files.PRIVATE_FILE)
