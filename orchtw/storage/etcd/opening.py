"""Etcd store made from the flags."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from orchtw.config.storage import EtcdOptions, StorageOptions
from orchtw.errors import ConfigError
from orchtw.outbound.destination import Destination, default_port
from orchtw.outbound.policy import BadTLS, TLSPolicy
from orchtw.outbound.tls import ClientTLS
from orchtw.storage.etcd.store import EtcdSettings, EtcdStore
from orchtw.storage.store import StoreHost

DIAL_S = 3.0


def in_cluster(host: StoreHost, options: StorageOptions) -> EtcdStore:
    """Return the store in the cluster of `--etcd-servers`. Raises ConfigError for files that cannot be used."""
    etcd = options.etcd
    tls = tls_of(etcd)
    settings = EtcdSettings(
        endpoints=[_destination(url, tls) for url in etcd.servers],
        prefix="/" + etcd.prefix.strip("/"),
        compaction_interval_s=etcd.compaction_interval_s,
        lease_reuse_s=etcd.lease_reuse_duration_seconds,
        size_interval_s=etcd.db_metric_poll_interval_s,
        renewed=partial(_renewed, etcd),
        vocabulary=host.vocabulary,
        evidence=host.evidence,
    )
    return EtcdStore(settings, host.reactor)


def _destination(url: str, tls: ClientTLS) -> Destination:
    parts = urlsplit(url)
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    port = parts.port or default_port(scheme)
    return Destination(scheme=scheme, host=parts.hostname or "", port=port, tls=tls, timeout_s=DIAL_S)


def tls_of(options: EtcdOptions) -> ClientTLS:
    """Return the TLS settings towards members. Raises ConfigError for unusable files."""
    policy = TLSPolicy(
        authorities=_read("--etcd-cafile", options.cafile),
        certificate=_read("--etcd-certfile", options.certfile),
        key=_read("--etcd-keyfile", options.keyfile),
    )
    try:
        return policy.tls()
    except BadTLS as problem:
        raise ConfigError(f"--etcd-cafile, --etcd-certfile, --etcd-keyfile: {problem}") from None


def _renewed(options: EtcdOptions) -> ClientTLS | None:
    """Read the files again; None, to keep the last ones in use, while they are being replaced."""
    try:
        return tls_of(options)
    except ConfigError:
        return None


def _read(flag: str, path: Path | None) -> bytes:
    """Return the content of a file. An empty one is rejected: it would mean the machine's authorities, or no key."""
    if path is None:
        return b""
    try:
        held = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{flag}: {path}: {error.strerror}") from None
    if not held.strip():
        raise ConfigError(f"{flag}: {path}: the file is empty")
    return held
