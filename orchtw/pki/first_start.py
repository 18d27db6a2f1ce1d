"""Keys and certificates of the server: generated at the first start, checked and renewed at every later one.

The folder `pki` is created atomically, and so are replacements of its files, so a crash cannot leave it incomplete.
Damaged files are reported, never silently regenerated: a new CA would lock out every client.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from twisted.logger import Logger

from orchtw.config import host_and_port
from orchtw.config.accounts import AccountOptions
from orchtw.config.authentication import AuthenticationOptions
from orchtw.config.cluster import AggregationOptions
from orchtw.config.serving import ServingOptions
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki import certificates, files, front_proxy, kubeconfig, serving
from orchtw.pki.certificates import Authority
from orchtw.pki.front_proxy import FrontProxy
from orchtw.pki.given_pairs import GivenPair
from orchtw.pki.issuing import SigningAuthority
from orchtw.pki.stored_pairs import Pair, key_of, read_key, read_pair, renewed

FOLDER, KUBECONFIG = "pki", "admin.kubeconfig"
CA, SERVING, ADMIN, SERVICE_ACCOUNT = "ca", serving.NAME, "admin", "sa"

_log = Logger()


class PkiOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that keys and certificates depend on: the data folder, names and given files."""

    data_dir: Path
    serving: ServingOptions
    authn: AuthenticationOptions
    accounts: AccountOptions
    aggregation: AggregationOptions


class Pki(msgspec.Struct, frozen=True, kw_only=True):
    """Keys and certificates for TLS, authentication, token signing and the administrator.

    `serving_chain` starts with the leaf; `serving_files` are followed for changes. `ca_pem` is what clients trust the
    server by. `client_cas` are the trusted CAs of client certificates; `own` is the CA of the data folder.
    `common_key` is the private key that all servers on one store share, which signs service account tokens.
    """

    ca_pem: bytes
    serving_chain: tuple[x509.Certificate, ...]
    serving_key: PrivateKeyTypes
    serving_files: GivenPair | None
    client_cas: tuple[x509.Certificate, ...]
    service_account_key: ec.EllipticCurvePrivateKey
    common_key: PrivateKeyTypes
    front_proxy: FrontProxy
    kubeconfig: Path
    own: Authority

    @property
    def client_ca_pem(self) -> str:
        """Return the trusted CAs of client certificates as PEM."""
        return b"".join(map(certificates.pem, self.client_cas)).decode()

    @property
    def own_signing(self) -> SigningAuthority | None:
        """Return the data folder's CA as certificate signer; None if its client certificates are not trusted."""
        own = self.own
        return SigningAuthority(own.certificate, own.key) if own.certificate in self.client_cas else None

    def derived_key(self, purpose: bytes) -> bytes:
        """Derive a 32-byte secret for `purpose` from `common_key`, equal on all servers of one store."""
        secret = self.common_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret)


def has_keys(data: Path) -> bool:
    """Report whether the data folder has keys from an earlier start."""
    folder = data / FOLDER
    return folder.is_dir() and any(folder.iterdir())


def common_keys(naming: Naming, now: datetime) -> dict[str, bytes]:
    """Generate the keys and certificates that the servers of one cluster share, as files by name."""
    authority = certificates.new_authority(f"{naming.product}-ca", now)
    return {
        f"{CA}.crt": certificates.pem(authority.certificate),
        f"{CA}.key": certificates.key_pem(authority.key),
        f"{SERVICE_ACCOUNT}.key": certificates.key_pem(certificates.new_key()),
        **front_proxy.new_files(now),
    }


def prepare(
    options: PkiOptions, naming: Naming, port: int, now: datetime, handed: Mapping[str, bytes] | None = None
) -> Pki:
    """Return the server's keys and certificates; write `admin.kubeconfig` for its address and actual `port`.

    If the folder `pki` is missing or empty, it is generated, from the shared keys `handed` over if there are any.
    Generated certificates that expire soon or lack an address are renewed. `now` is timezone-aware. Raises
    ConfigError, naming the damaged, missing or inaccessible file.
    """
    data = files.make_folder(options.data_dir)
    folder = data / FOLDER
    files.refuse_link(folder)
    if not folder.is_dir() or not any(folder.iterdir()):
        files.write_folder(folder, _first_files(options.serving, naming, now, handed))
    for each in (data, folder):
        files.warn_of_rights(each)
    authority = _authority(folder, now)
    admin = renewed(folder, ADMIN, authority, now, partial(_administrator, authority, now=now, naming=naming))
    shown = serving.prepare(options.serving, options.data_dir, naming, folder, authority, now)
    trust = b"".join(map(certificates.pem, [authority.certificate] if shown.made else shown.chain))
    client_cas = given_client_cas(options.authn) or (authority.certificate,)
    server = f"https://{host_and_port(options.serving.public_address, port)}"
    account_key = read_key(folder / f"{SERVICE_ACCOUNT}.key")
    _write_kubeconfig(data / KUBECONFIG, server, naming, trust, admin)
    return Pki(
        ca_pem=trust,
        serving_chain=shown.chain,
        serving_key=shown.key,
        serving_files=shown.files,
        client_cas=client_cas,
        service_account_key=account_key,
        common_key=given_signing_key(options.accounts) or account_key,
        front_proxy=front_proxy.prepare(options.aggregation, options.authn.request_header, folder, now),
        kubeconfig=options.data_dir / KUBECONFIG,
        own=authority,
    )


def _administrator(
    authority: Authority, key: ec.EllipticCurvePrivateKey, *, now: datetime, naming: Naming
) -> x509.Certificate:
    user, groups = naming.administrator_user, (naming.administrators_group,)
    return certificates.issue(authority, key, user, certificates.CLIENT, now, organizations=groups)


def _first_files(
    serving_options: ServingOptions, naming: Naming, now: datetime, handed: Mapping[str, bytes] | None
) -> dict[str, tuple[bytes, int]]:
    """Return content and mode of each file of a new `pki` folder, by name."""
    common = handed or common_keys(naming, now)
    authority = Authority(
        x509.load_pem_x509_certificate(common[f"{CA}.crt"]), key_of(common[f"{CA}.key"], f"{CA}.key")
    )
    account_key = key_of(common[f"{SERVICE_ACCOUNT}.key"], f"{SERVICE_ACCOUNT}.key")
    keys = {name: certificates.new_key() for name in (SERVING, ADMIN)}
    made = {
        SERVING: serving.issued(
            authority, keys[SERVING], now=now, naming=naming, names=serving.hosts(serving_options, naming)
        ),
        ADMIN: _administrator(authority, keys[ADMIN], now=now, naming=naming),
    }
    contents = {f"{name}.key": (certificates.key_pem(key), files.PRIVATE_FILE) for name, key in keys.items()}
    contents |= {f"{name}.crt": (certificates.pem(made[name]), files.PUBLIC_FILE) for name in made}
    contents[f"{SERVICE_ACCOUNT}.pub"] = (certificates.public_pem(account_key), files.PUBLIC_FILE)
    contents |= {
        name: (content, files.PRIVATE_FILE if name.endswith(".key") else files.PUBLIC_FILE)
        for name, content in common.items()
    }
    return contents


def _authority(folder: Path, now: datetime) -> Authority:
    pair = read_pair(folder, CA)
    if certificates.ends_before(pair.certificate, now):
        raise ConfigError(f"{folder / CA}.crt: expired on {pair.certificate.not_valid_after_utc:%Y-%m-%d}")
    return Authority(pair.certificate, pair.key)


def given_client_cas(options: AuthenticationOptions) -> tuple[x509.Certificate, ...]:
    """Read the CA certificates of `--client-ca-file`, empty without it. Raises ConfigError."""
    path = options.client_ca_file
    return () if path is None else files.of_flag("client-ca-file", files.read_certificates, path)


def given_signing_key(options: AccountOptions) -> PrivateKeyTypes | None:
    """Read the key of `--service-account-signing-key-file`, if given. Raises ConfigError."""
    path = options.signing_key_file
    return None if path is None else files.of_flag("service-account-signing-key-file", files.read_key, path)


def _write_kubeconfig(path: Path, server: str, naming: Naming, ca_pem: bytes, admin: Pair) -> None:
    """Write the administrator's kubeconfig, mode 0600, unless it is unchanged."""
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
        _log.warn("{path}: removed other users' permissions on the administrator's credentials", path=str(path))
    elif there and files.read_own(path) == content:
        return
    files.replace(path, content, files.PRIVATE_FILE)
