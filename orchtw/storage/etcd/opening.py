"""The store that the flags ask for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.outbound.destination import Destination, default_port
from orchtw.outbound.policy import BadTLS, TLSPolicy
from orchtw.outbound.tls import ClientTLS
from orchtw.storage.etcd.store import EtcdSettings, EtcdStore
from orchtw.storage.interface import StoreHost

DIAL_S = 3.0


def in_cluster(host: StoreHost, config: Config) -> EtcdStore:
    """The store in the cluster of `--etcd-servers`. Raises ConfigError for files that cannot be used."""
    tls = tls_of(config)
    settings = EtcdSettings(
        endpoints=[_destination(url, tls) for url in config.etcd_servers],
        prefix="/" + config.etcd_prefix.strip("/"),
        compaction_interval_s=config.etcd_compaction_interval_s,
        lease_reuse_s=config.lease_reuse_duration_seconds,
        size_interval_s=config.etcd_db_metric_poll_interval_s,
        renewed=partial(_renewed, config),
        vocabulary=host.vocabulary,
        evidence=host.evidence,
    )
    return EtcdStore(settings, host.reactor)


def _destination(url: str, tls: ClientTLS) -> Destination:
    parts = urlsplit(url)
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    port = parts.port or default_port(scheme)
    return Destination(scheme=scheme, host=parts.hostname or "", port=port, tls=tls, timeout_s=DIAL_S)


def tls_of(config: Config) -> ClientTLS:
    """Return the TLS settings towards members. Raises ConfigError for unusable files."""
    policy = TLSPolicy(
        authorities=_read("--etcd-cafile", config.etcd_cafile),
        certificate=_read("--etcd-certfile", config.etcd_certfile),
        key=_read("--etcd-keyfile", config.etcd_keyfile),
    )
    try:
        return policy.tls()
    except BadTLS as problem:
        raise ConfigError(f"--etcd-cafile, --etcd-certfile, --etcd-keyfile: {problem}") from None


def _renewed(config: Config) -> ClientTLS | None:
    """Read the files again; None, to keep the last ones in use, while they are being replaced."""
    try:
        return tls_of(config)
    except ConfigError:
        return None


def _read(flag: str, path: Path | None) -> bytes:
    """Read a file. An empty one is rejected: it would mean the machine's authorities, or no key."""
    if path is None:
        return b""
    try:
        held = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{flag}: {path}: {error.strerror}") from None
    if not held.strip():
        raise ConfigError(f"{flag}: {path}: the file is empty")
    return held
