"""First start and every later one: what the server needs in keys and certificates, made, checked or renewed.

The folder `pki` appears complete or not at all, and single files are only ever replaced whole, so a crash
cannot leave half of it. What an operator damaged is named, never silently made anew: a new CA would lock out
every client.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
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
from orchtw.naming.names import Naming
from orchtw.pki import certificates, files, front_proxy, kubeconfig, serving
from orchtw.pki.certificates import Authority
from orchtw.pki.front_proxy import FrontProxy
from orchtw.pki.given_pairs import GivenPair
from orchtw.pki.issuing import SigningAuthority
from orchtw.pki.stored_pairs import Pair, key_of, read_key, read_pair, renewed

FOLDER, KUBECONFIG = "pki", "admin.kubeconfig"
CA, SERVING, ADMIN, SERVICE_ACCOUNT = "ca", serving.NAME, "admin", "sa"

_log = Logger()


@attrs.frozen(slots=True, kw_only=True)
class Pki:
    """Everything the composition root hands on: to TLS, to authentication, to the operator.

    `serving_chain` starts with the server's own certificate; `serving_files` are where it may change. `ca_pem` is
    what a client needs to trust the server. `client_cas` are the authorities whose client certificates are believed;
    `own` is the folder's.
    `common_key` is the private key that servers of one store have in common: that of their accounts' tokens.
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


def has_keys(config: Config) -> bool:
    """Report whether the data folder has keys from an earlier start."""
    folder = config.data_dir / FOLDER
    return folder.is_dir() and any(folder.iterdir())


def common_keys(naming: Naming, now: datetime) -> dict[str, bytes]:
    """New keys and certificates that servers of one cluster have in common, as files by their names."""
    authority = certificates.new_authority(f"{naming.product}-ca", now)
    return {
        f"{CA}.crt": certificates.pem(authority.certificate),
        f"{CA}.key": certificates.key_pem(authority.key),
        f"{SERVICE_ACCOUNT}.key": certificates.key_pem(certificates.new_key()),
        **front_proxy.new_files(now),
    }


def prepare(
    config: Config, naming: Naming, port: int, now: datetime, handed: Mapping[str, bytes] | None = None
) -> Pki:
    """The server's keys and certificates, and `admin.kubeconfig` for the address and the real `port`.

    Made where missing as a whole, of the keys that were `handed` over if there are any; a serving certificate that
    nears its end or lacks an address is renewed. `now` is an aware time. Raises ConfigError naming the file that is
    damaged, missing or not accessible.
    """
    data = files.make_folder(config.data_dir)
    folder = data / FOLDER
    files.refuse_link(folder)
    if not folder.is_dir() or not any(folder.iterdir()):
        files.write_folder(folder, _first_files(config, naming, now, handed))
    for each in (data, folder):
        files.warn_of_rights(each)
    authority = _authority(folder, now)
    admin = renewed(folder, ADMIN, authority, now, partial(_administrator, authority, now=now, naming=naming))
    shown = serving.prepare(config, naming, folder, authority, now)
    trust = b"".join(map(certificates.pem, [authority.certificate] if shown.made else shown.chain))
    client_cas = given_client_cas(config) or (authority.certificate,)
    server = f"https://{host_and_port(config.public_address, port)}"
    account_key = read_key(folder / f"{SERVICE_ACCOUNT}.key")
    _write_kubeconfig(data / KUBECONFIG, server, naming, trust, admin)
    return Pki(
        ca_pem=trust,
        serving_chain=shown.chain,
        serving_key=shown.key,
        serving_files=shown.files,
        client_cas=client_cas,
        service_account_key=account_key,
        common_key=given_signing_key(config) or account_key,
        front_proxy=front_proxy.prepare(config, folder, now),
        kubeconfig=config.data_dir / KUBECONFIG,
        own=authority,
    )


def _administrator(
    authority: Authority, key: ec.EllipticCurvePrivateKey, *, now: datetime, naming: Naming
) -> x509.Certificate:
    user, groups = naming.administrator_user, (naming.administrators_group,)
    return certificates.issue(authority, key, user, certificates.CLIENT, now, organizations=groups)


def _first_files(
    config: Config, naming: Naming, now: datetime, handed: Mapping[str, bytes] | None
) -> dict[str, tuple[bytes, int]]:
    """Name, content and mode of each file of a fresh `pki` folder."""
    common = handed or common_keys(naming, now)
    authority = Authority(
        x509.load_pem_x509_certificate(common[f"{CA}.crt"]), key_of(common[f"{CA}.key"], f"{CA}.key")
    )
    account_key = key_of(common[f"{SERVICE_ACCOUNT}.key"], f"{SERVICE_ACCOUNT}.key")
    keys = {name: certificates.new_key() for name in (SERVING, ADMIN)}
    made = {
        SERVING: serving.issued(
            authority, keys[SERVING], now=now, naming=naming, names=serving.hosts(config, naming)
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


def given_client_cas(config: Config) -> tuple[x509.Certificate, ...]:
    """The authorities of `--client-ca-file`, none if it is not given. Raises ConfigError."""
    path = config.client_ca_file
    return () if path is None else files.of_flag("client-ca-file", files.read_certificates, path)


def given_signing_key(config: Config) -> PrivateKeyTypes | None:
    """The key of `--service-account-signing-key-file`, if it is given. Raises ConfigError."""
    path = config.service_account_signing_key_file
    return None if path is None else files.of_flag("service-account-signing-key-file", files.read_key, path)


def _write_kubeconfig(path: Path, server: str, naming: Naming, ca_pem: bytes, admin: Pair) -> None:
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
