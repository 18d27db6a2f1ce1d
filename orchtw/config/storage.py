"""Settings of the store, its cache, retention and encryption at rest."""

from __future__ import annotations

from pathlib import Path

from orchtw.config.about import about
from orchtw.config.subjects import options, setting, subject
from orchtw.flags.flag import BOOLEAN, DURATION, INTEGER, LIST, PATH, TEXT


@options
class EtcdOptions:
    """Options of the etcd store; compaction interval and health check timeout apply to the embedded store too."""

    servers: tuple[str, ...] = setting(
        default=(), metadata=about("Storage", "URLs of the etcd cluster's members, comma-separated.", LIST)
    )
    servers_overrides: tuple[str, ...] = setting(
        default=(), metadata=about("Storage", "Rejected: all objects are kept in one cluster.", LIST)
    )
    prefix: str = setting(default="/registry", metadata=about("Storage", "Prefix of all keys in etcd.", TEXT))
    cafile: Path | None = setting(
        default=None,
        metadata=about("Storage", "CA certificates (PEM) that the members' certificates are verified with.", PATH),
    )
    certfile: Path | None = setting(
        default=None, metadata=about("Storage", "Client certificate (PEM) for connections to etcd.", PATH)
    )
    keyfile: Path | None = setting(
        default=None, metadata=about("Storage", "Private key (PEM) of --etcd-certfile.", PATH)
    )
    compaction_interval_s: float = setting(
        default=300.0,
        metadata=about(
            "Storage",
            "Interval between compactions, which is how long the store keeps history; applies to SQLite too.",
            DURATION,
        ),
    )
    healthcheck_timeout_s: float = setting(
        default=2.0, metadata=about("Storage", "How long the store may take to answer a health check.", DURATION)
    )
    db_metric_poll_interval_s: float = setting(
        default=30.0,
        metadata=about(
            "Storage", "Interval between measurements of the size of etcd's database; 0 turns them off.", DURATION
        ),
    )
    lease_reuse_duration_seconds: int = setting(
        default=60,
        metadata=about(
            "Storage",
            "How long an etcd lease is reused for further values with a time to live, in seconds.",
            INTEGER,
            flag="lease-reuse-duration-seconds",
        ),
    )


@options
class StorageOptions:
    """Options of the store and its cache."""

    storage_backend: str = setting(
        default="",
        metadata=about(
            "Storage",
            "Store to use: {stores}; empty means etcd3 if --etcd-servers is given, else sqlite. memory keeps nothing "
            "when the server ends. Also --storage.",
            TEXT,
            also="storage",
        ),
    )
    unsafe_no_fsync: bool = setting(
        default=False,
        metadata=about(
            "Storage",
            "Do not wait until SQLite's writes are on the disk, for tests: a crash of the machine, though not of the "
            "server, may lose or damage the store.",
            BOOLEAN,
        ),
    )
    event_ttl_s: float = setting(
        default=3600.0,
        metadata=about("Storage", "How long Events are kept after their last write; 0 keeps them forever.", DURATION),
    )
    watch_cache_bytes: int = setting(
        default=200 << 20,
        metadata=about(
            "Storage",
            "Maximum number of bytes for caches beyond the stored objects (encoded responses, watch "
            "history); 0 means no limit.",
            INTEGER,
        ),
    )
    encryption_provider_config: Path | None = setting(
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
