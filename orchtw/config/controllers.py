"""Which controllers run, and how."""

from __future__ import annotations

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import BOOLEAN, DURATION, INTEGER, LIST, TEXT


@attrs.frozen(slots=False, kw_only=True)
class Controllers:
    """The settings of controllers."""

    controllers: tuple[str, ...] = attrs.field(
        default=("*",),
        metadata=about(
            "Controllers",
            "Controllers to run: * for all but bootstrapsigner and tokencleaner, names, -name for all but it, "
            "-* for none but those named; there are {controllers}.",
            LIST,
        ),
    )
    enable_garbage_collector: bool = attrs.field(
        default=True,
        metadata=about("Controllers", "Deletes set and obey the garbage collector's finalizers.", BOOLEAN),
    )
    concurrent_namespace_syncs: int = attrs.field(
        default=10, metadata=about("Controllers", "Namespaces that are emptied at a time.", INTEGER)
    )
    concurrent_gc_syncs: int = attrs.field(
        default=20, metadata=about("Controllers", "Objects that the garbage collector looks at at a time.", INTEGER)
    )
    concurrent_serviceaccount_token_syncs: int = attrs.field(
        default=5,
        metadata=about("Controllers", "Secrets with tokens of service accounts worked on at a time.", INTEGER),
    )
    namespace_sync_period_s: float = attrs.field(
        default=300.0, metadata=about("Controllers", "Time between looks at all namespaces.", DURATION)
    )
    concurrent_resource_quota_syncs: int = attrs.field(
        default=5, metadata=about("Controllers", "Quotas that are counted at a time.", INTEGER)
    )
    resource_quota_sync_period_s: float = attrs.field(
        default=300.0, metadata=about("Controllers", "Time between looks at all quotas.", DURATION)
    )
    leader_elect: bool | None = attrs.field(
        default=None,
        metadata=about(
            "Controllers",
            "Run the controllers only while holding a Lease, and end when it is lost; unset: hold it where servers "
            "share the store (etcd), and go on as a candidate when it is lost.",
            BOOLEAN,
        ),
    )
    leader_elect_lease_duration_s: float = attrs.field(
        default=15.0, metadata=about("Controllers", "Time after which others may take the Lease over.", DURATION)
    )
    leader_elect_renew_deadline_s: float = attrs.field(
        default=10.0,
        metadata=about("Controllers", "Time a leader may fail to renew before its controllers stop.", DURATION),
    )
    leader_elect_retry_period_s: float = attrs.field(
        default=2.0,
        metadata=about("Controllers", "Time between renewals, and between attempts at the Lease.", DURATION),
    )
    leader_elect_resource_lock: str = attrs.field(
        default="leases", metadata=about("Controllers", "What is held: leases, and nothing else.", TEXT)
    )
    leader_elect_resource_name: str = attrs.field(
        default="", metadata=about("Controllers", "Name of the Lease; empty: orch-controller-manager.", TEXT)
    )
    leader_elect_resource_namespace: str = attrs.field(
        default="", metadata=about("Controllers", "Namespace of the Lease; empty: orch-system.", TEXT)
    )
