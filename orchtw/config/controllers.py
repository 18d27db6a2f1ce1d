"""Settings of the controllers and of leader election."""

from __future__ import annotations

from orchtw.config.about import about
from orchtw.config.subjects import options, setting, subject
from orchtw.flags.flag import BOOLEAN, DURATION, INTEGER, LIST, TEXT


@options
class ElectionOptions:
    """Options of leader election among several servers."""

    enabled: bool | None = setting(
        default=None,
        metadata=about(
            "Controllers",
            "Run the controllers only while holding a Lease, and exit when it is lost. If unset, a Lease "
            "is held where servers share a store (etcd), and a server that loses it stays on as a "
            "candidate.",
            BOOLEAN,
            flag="leader-elect",
        ),
    )
    lease_duration_s: float = setting(
        default=15.0,
        metadata=about(
            "Controllers",
            "How long after its last renewal the Lease may be taken over by another candidate.",
            DURATION,
        ),
    )
    renew_deadline_s: float = setting(
        default=10.0,
        metadata=about(
            "Controllers",
            "How long the leader keeps trying to renew the Lease before it stops its controllers.",
            DURATION,
        ),
    )
    retry_period_s: float = setting(
        default=2.0,
        metadata=about("Controllers", "Interval between attempts to acquire or renew the Lease.", DURATION),
    )
    resource_lock: str = setting(
        default="leases",
        metadata=about("Controllers", "Kind of object used as the lock; only leases is supported.", TEXT),
    )
    resource_name: str = setting(
        default="", metadata=about("Controllers", "Name of the Lease; empty means orch-controller-manager.", TEXT)
    )
    resource_namespace: str = setting(
        default="", metadata=about("Controllers", "Namespace of the Lease; empty means orch-system.", TEXT)
    )


@options
class ControllerOptions:
    """Options of the controllers."""

    names: tuple[str, ...] = setting(
        default=("*",),
        metadata=about(
            "Controllers",
            "Controllers to run: * means all except bootstrapsigner and tokencleaner, a name adds one, "
            "-name leaves one out, -* leaves out all that are not named. There are: {controllers}.",
            LIST,
            flag="controllers",
        ),
    )
    enable_garbage_collector: bool = setting(
        default=True,
        metadata=about("Controllers", "Run the garbage collector, and honour its finalizers on deletion.", BOOLEAN),
    )
    concurrent_namespace_syncs: int = setting(
        default=10, metadata=about("Controllers", "Number of namespaces to empty concurrently.", INTEGER)
    )
    concurrent_gc_syncs: int = setting(
        default=20, metadata=about("Controllers", "Number of garbage collector workers.", INTEGER)
    )
    concurrent_serviceaccount_token_syncs: int = setting(
        default=5,
        metadata=about("Controllers", "Number of service account token Secrets to reconcile concurrently.", INTEGER),
    )
    legacy_token_clean_up_period_s: float = setting(
        default=365 * 24 * 3600.0,
        metadata=about(
            "Controllers",
            "Time without a use after which a generated token in a Secret is marked invalid, and as long again until "
            "it is deleted.",
            DURATION,
            flag="legacy-service-account-token-clean-up-period",
        ),
    )
    namespace_deletion_grace_period_s: float = setting(
        default=0.0,
        metadata=about(
            "Controllers",
            "Delay before the contents of a deleted namespace are removed; meanwhile clients may finalize it.",
            DURATION,
        ),
    )
    namespace_sync_period_s: float = setting(
        default=300.0, metadata=about("Controllers", "Interval between resyncs of all namespaces.", DURATION)
    )
    concurrent_resource_quota_syncs: int = setting(
        default=5, metadata=about("Controllers", "Number of ResourceQuotas to recount concurrently.", INTEGER)
    )
    resource_quota_sync_period_s: float = setting(
        default=300.0, metadata=about("Controllers", "Interval between recounts of all ResourceQuotas.", DURATION)
    )
    election: ElectionOptions = subject(ElectionOptions, "leader-elect")
