"""Facts that this server publishes of its settings, for others of its cluster to compare (reference CTRL-52)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from orchtw.assembly.encryption import keys_by_resource
from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.config import Config
from orchtw.config.settings import SETTINGS
from orchtw.naming.naming import Naming
from orchtw.pki.cluster_signing import CLIENT, LEGACY, NODE_CLIENT, ClusterSigning
from orchtw.rules.agreement import Believed, Content, Equal, Fact
from orchtw.storage.encryption.samples import Samples

_SETTINGS: Final = (
    "enable_admission_plugins",
    "disable_admission_plugins",
    "admission_control",
    "allow_privileged",
    "anonymous_auth",
    "api_audiences",
    "enable_bootstrap_token_auth",
    "enable_garbage_collector",
    "oidc_issuer_url",
    "oidc_client_id",
    "oidc_username_claim",
    "oidc_username_prefix",
    "oidc_groups_claim",
    "oidc_groups_prefix",
    "runtime_config",
    "service_account_lookup",
)
"""Settings that say how a request is treated: with different ones it depends on the server that is asked."""

_FILES: Final = (
    "admission_control_config_file",
    "authentication_token_webhook_config_file",
    "authorization_policy_file",
    "authorization_webhook_config_file",
    "oidc_ca_file",
    "requestheader_client_ca_file",
    "token_auth_file",
)


def facts(
    config: Config,
    naming: Naming,
    accounts: AccountTokens,
    signing: ClusterSigning,
    *,
    client_ca_pem: str,
    published_ca_pem: str,
) -> list[Fact]:
    """Return all of them, those first without which servers do harm to each other."""
    clients, published = _fingerprints(client_ca_pem), _fingerprints(published_ca_pem)
    signers = (signing.authority(signer) for signer in (CLIENT, NODE_CLIENT, LEGACY))
    used = clients & {_fingerprint(signer.certificate) for signer in signers if signer is not None}
    keys = accounts.keys
    return [
        Equal(name="--vocabulary", text=naming.vocabulary, fatal=True),
        Believed(name="authorities of clients", used=used, believed=clients),
        Believed(name="authorities of servers", used=(), believed=published),
        Believed(
            name="keys of service accounts",
            used={keys.signing.public.kid, keys.in_secrets.public.kid},
            believed={key.kid for key in keys.verifying},
        ),
        Believed(name="--service-account-issuer", used=accounts.issuers[:1], believed=accounts.issuers),
        Equal(name="--service-cluster-ip-range", text=_listed(config.cluster.service_networks, ","), fatal=True),
        Equal(name="--service-node-port-range", text=_listed(config.cluster.service_node_ports, "-"), fatal=True),
        Samples(keys_by_resource(config.storage.encryption_provider_config, config.plugins)),
        *_settings(config),
    ]


def _settings(config: Config) -> Iterator[Fact]:
    gates = sorted(config.generic.gates.items())
    yield Equal(name="--feature-gates", text=",".join(f"{name}={on}" for name, on in gates))
    yield Equal(name="--authorization-mode", text=config.authz.source)
    for name in _SETTINGS:
        yield Equal(name=_flag(name), text=_text(SETTINGS[name].of(config)))
    for name in _FILES:
        path: Path | None = SETTINGS[name].of(config)
        yield Content(name=_flag(name), content=b"" if path is None else _read(path))


def _listed(values: Iterable[object], separator: str) -> str:
    return separator.join(map(str, values))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _text(value: object) -> str:
    """Return a setting as text; the order of a list's elements means nothing."""
    if isinstance(value, tuple):
        return ",".join(sorted("=".join(each) if isinstance(each, tuple) else str(each) for each in value))
    return str(value)


def _read(path: Path) -> bytes:
    """Read a file; unreadable ones have ended the start elsewhere."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _fingerprints(pem: str) -> frozenset[str]:
    return frozenset(map(_fingerprint, _certificates(pem)))


def _certificates(pem: str) -> Iterable[x509.Certificate]:
    found: Sequence[x509.Certificate] = x509.load_pem_x509_certificates(pem.encode()) if pem else ()
    return found


def _fingerprint(certificate: x509.Certificate) -> str:
    return certificate.fingerprint(SHA256()).hex()
