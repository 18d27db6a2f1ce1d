"""The controllers, alone or in packages of a kind, and the registry of their names for `--controllers`.

They work through a `Client`, in this process or in another: nothing here knows the store or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from orchtw.controllers.bootstrap_tokens.cleaner import TokenCleaner
from orchtw.controllers.bootstrap_tokens.signer import BootstrapSigner
from orchtw.controllers.certificates.approving import Approver
from orchtw.controllers.certificates.cleaning import Cleaner
from orchtw.controllers.certificates.signing import Signer
from orchtw.controllers.claim_protection import ClaimProtection
from orchtw.controllers.cluster_role_aggregation import ClusterRoleAggregationController
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.controllers.garbage_collector import GarbageCollector
from orchtw.controllers.manager import ManagerSettings
from orchtw.controllers.namespace import NamespaceController
from orchtw.controllers.policy_status import PolicyStatusController
from orchtw.controllers.resource_quota import ResourceQuotaController
from orchtw.controllers.root_ca_publisher import RootCAPublisher
from orchtw.controllers.service_accounts.default_account import ServiceAccountController
from orchtw.controllers.service_accounts.legacy_tokens import LegacyTokenCleaner
from orchtw.controllers.service_accounts.token_secrets import TokenSecrets
from orchtw.controllers.service_accounts.tokens import TokenController
from orchtw.controllers.storage_versions import StorageVersionCollector
from orchtw.controllers.volume_protection import VolumeProtection
from orchtw.plugins import ControllerPlugin

CONTROLLERS: Mapping[str, Callable[[ControllerHost, ManagerSettings], Controller]] = {
    "clusterrole-aggregation": lambda host, settings: ClusterRoleAggregationController(host),
    "csrapproving": lambda host, settings: Approver(host),
    "csrcleaner": lambda host, settings: Cleaner(host),
    "csrsigning": lambda host, settings: Signer(host, settings.signing),
    BootstrapSigner.name: lambda host, settings: BootstrapSigner(host),
    "garbagecollector": lambda host, settings: GarbageCollector(host, settings.concurrent_gc_syncs),
    "namespace": lambda host, settings: NamespaceController(
        host,
        settings.concurrent_namespace_syncs,
        resync_s=settings.namespace_sync_period_s,
        grace_s=settings.namespace_deletion_grace_period_s,
        pods_first=settings.pods_first,
    ),
    "resourcequota": lambda host, settings: ResourceQuotaController(
        host, settings.concurrent_quota_syncs, settings.quota_sync_period_s
    ),
    "serviceaccount-token": lambda host, settings: TokenController(
        host,
        settings.concurrent_token_syncs,
        TokenSecrets(host.naming, settings.legacy_token, settings.root_ca_pem),
        generates=settings.generates_secrets,
    ),
    "serviceaccount": lambda host, settings: ServiceAccountController(host),
    "root-ca-cert-publisher": lambda host, settings: RootCAPublisher(host, settings.root_ca_pem),
    LegacyTokenCleaner.name: lambda host, settings: LegacyTokenCleaner(host, settings.legacy_token_unused_s),
    TokenCleaner.name: lambda host, settings: TokenCleaner(host),
    ClaimProtection.name: lambda host, settings: ClaimProtection(host),
    VolumeProtection.name: lambda host, settings: VolumeProtection(host),
    PolicyStatusController.name: lambda host, settings: PolicyStatusController(host),
    StorageVersionCollector.name: lambda host, settings: StorageVersionCollector(host),
}
"""Factories of controllers by their names in `--controllers`, in the order in which they start."""

BY_NAME_ONLY = frozenset({BootstrapSigner.name, TokenCleaner.name})
"""Controllers that `*` leaves out (reference CTRL-2)."""


def chosen(asked: Sequence[str], plugins: Mapping[str, ControllerPlugin] | None = None) -> frozenset[str]:
    """Return the controllers that `--controllers` selects, those of `plugins` included.

    `*` is all but the ones that must be named, `-name` all but that one, `-*` only those named.
    """
    installed = plugins or {}
    named = BY_NAME_ONLY.union(name for name, plugin in installed.items() if plugin.by_name_only)
    known = [*CONTROLLERS, *installed]
    others = frozenset(known) - named if "*" in asked and "-*" not in asked else frozenset()
    return frozenset(name for name in known if name in asked or (name in others and f"-{name}" not in asked))


def enabled(host: ControllerHost, settings: ManagerSettings) -> list[Controller]:
    """Return the controllers that are switched on."""
    return [make(host, settings) for name, make in CONTROLLERS.items() if name in settings.enabled]
