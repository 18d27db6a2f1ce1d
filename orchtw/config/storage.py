"""Settings of the store, its cache, retention and encryption at rest."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.config.subjects import subject
from orchtw.flags.flag import BOOLEAN, DURATION, INTEGER, LIST, PATH, TEXT


@attrs.frozen(kw_only=True)
class EtcdOptions:
    """Options of the etcd store; compaction interval and health check timeout apply to the embedded store too."""

    servers: tuple[str, ...] = attrs.field(
        default=(), metadata=about("Storage", "URLs of the etcd cluster's members, comma-separated.", LIST)
    )
    servers_overrides: tuple[str, ...] = attrs.field(
        default=(), metadata=about("Storage", "Rejected: all objects are kept in one cluster.", LIST)
    )
    prefix: str = attrs.field(default="/registry", metadata=about("Storage", "Prefix of all keys in etcd.", TEXT))
    cafile: Path | None = attrs.field(
        default=None,
        metadata=about("Storage", "CA certificates (PEM) that the members' certificates are verified with.", PATH),
    )
    certfile: Path | None = attrs.field(
        default=None, metadata=about("Storage", "Client certificate (PEM) for connections to etcd.", PATH)
    )
    keyfile: Path | None = attrs.field(
        default=None, metadata=about("Storage", "Private key (PEM) of --etcd-certfile.", PATH)
    )
    compaction_interval_s: float = attrs.field(
        default=300.0,
        metadata=about(
            "Storage",
            "Interval between compactions, which is how long the store keeps history; applies to SQLite too.",
            DURATION,
        ),
    )
    healthcheck_timeout_s: float = attrs.field(
        default=2.0, metadata=about("Storage", "How long the store may take to answer a health check.", DURATION)
    )
    db_metric_poll_interval_s: float = attrs.field(
        default=30.0,
        metadata=about(
            "Storage", "Interval between measurements of the size of etcd's database; 0 turns them off.", DURATION
        ),
    )
    lease_reuse_duration_seconds: int = attrs.field(
        default=60,
        metadata=about(
            "Storage",
            "How long an etcd lease is reused for further values with a time to live, in seconds.",
            INTEGER,
            flag="lease-reuse-duration-seconds",
        ),
    )


@attrs.frozen(kw_only=True)
class StorageOptions:
    """Options of the store and its cache."""

    storage_backend: str = attrs.field(
        default="",
        metadata=about(
            "Storage",
            "Store to use: {stores}; empty means etcd3 if --etcd-servers is given, else sqlite. memory keeps nothing "
            "when the server ends. Also --storage.",
            TEXT,
            also="storage",
        ),
    )
    unsafe_no_fsync: bool = attrs.field(
        default=False,
        metadata=about(
            "Storage",
            "Do not wait until SQLite's writes are on the disk, for tests: a crash of the machine, though not of the "
            "server, may lose or damage the store.",
            BOOLEAN,
        ),
    )
    event_ttl_s: float = attrs.field(
        default=3600.0,
        metadata=about("Storage", "How long Events are kept after their last write; 0 keeps them forever.", DURATION),
    )
    watch_cache_bytes: int = attrs.field(
        default=200 << 20,
        metadata=about(
            "Storage",
            "Maximum number of bytes for caches beyond the stored objects (encoded responses, watch "
            "history); 0 means no limit.",
            INTEGER,
        ),
    )
    encryption_provider_config: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Storage",
            "EncryptionConfiguration file: which resources are encrypted at rest, and with which keys.",
            PATH,
        ),
    )
    etcd: EtcdOptions = subject(EtcdOptions, "etcd")

    @property
    def backend(self) -> str:
        """Return the name of the store to use."""
        return self.storage_backend or ("etcd3" if self.etcd.servers else "sqlite")
