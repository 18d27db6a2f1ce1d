"""Where objects are kept, and for how long."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import DURATION, INTEGER, LIST, PATH, TEXT


@attrs.frozen(slots=False, kw_only=True)
class Storage:
    """The settings of storage."""

    storage_backend: str = attrs.field(
        default="",
        metadata=about("Storage", "Store to use: {stores}; empty: etcd3 with --etcd-servers, else sqlite.", TEXT),
    )
    etcd_servers: tuple[str, ...] = attrs.field(
        default=(), metadata=about("Storage", "URLs of the members of the etcd cluster that is the store.", LIST)
    )
    etcd_servers_overrides: tuple[str, ...] = attrs.field(
        default=(), metadata=about("Storage", "Refused: all objects are kept in one cluster.", LIST)
    )
    etcd_prefix: str = attrs.field(
        default="/registry", metadata=about("Storage", "What all keys in etcd begin with.", TEXT)
    )
    etcd_cafile: Path | None = attrs.field(
        default=None, metadata=about("Storage", "Authorities that the members' certificates must be of.", PATH)
    )
    etcd_certfile: Path | None = attrs.field(
        default=None, metadata=about("Storage", "Certificate that is shown to the members.", PATH)
    )
    etcd_keyfile: Path | None = attrs.field(
        default=None, metadata=about("Storage", "Key of that certificate.", PATH)
    )
    etcd_compaction_interval_s: float = attrs.field(
        default=300.0, metadata=about("Storage", "Time for which the store keeps history.", DURATION)
    )
    etcd_healthcheck_timeout_s: float = attrs.field(
        default=2.0, metadata=about("Storage", "Time in which the store must answer a health check.", DURATION)
    )
    etcd_db_metric_poll_interval_s: float = attrs.field(
        default=30.0, metadata=about("Storage", "Time between looks at the size of etcd's data; 0: none.", DURATION)
    )
    lease_reuse_duration_seconds: int = attrs.field(
        default=60, metadata=about("Storage", "Time for which values that end may share a lease of etcd.", INTEGER)
    )
    event_ttl_s: float = attrs.field(
        default=3600.0,
        metadata=about("Storage", "Time for which Events are kept after their last write; 0: for ever.", DURATION),
    )
    identity_lease_duration_seconds: int = attrs.field(
        default=3600,
        metadata=about(
            "Storage", "Time for which a server's Lease tells that it is there (gate APIServerIdentity).", INTEGER
        ),
    )
    identity_lease_renew_interval_seconds: int = attrs.field(
        default=10,
        metadata=about("Storage", "Time between renewals of that Lease (gate APIServerIdentity).", INTEGER),
    )
    watch_cache_bytes: int = attrs.field(
        default=200 << 20,
        metadata=about(
            "Storage",
            "Bytes held to answer readers sooner, beside the objects as they are stored; 0: unbounded.",
            INTEGER,
        ),
    )
    encryption_provider_config: Path | None = attrs.field(
        default=None,
        metadata=about("Storage", "EncryptionConfiguration: what seals the objects that are kept.", PATH),
    )

    @property
    def backend(self) -> str:
        """The name of the store to use."""
        return self.storage_backend or ("etcd3" if self.etcd_servers else "sqlite")
