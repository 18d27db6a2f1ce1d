"""Controllers inside the API server: their clients write through this process' own registry."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from random import SystemRandom
from typing import Final

import attrs
import msgspec
from twisted.internet.interfaces import IReactorTime

from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.authz.decision import Authorizer, Decision
from orchtw.bootstrap.storage_versions import states_versions
from orchtw.client.fencing import Tenure
from orchtw.client.in_process import InProcessClient, Registry
from orchtw.client.interface import Client
from orchtw.client.work_queue import QueueMetrics
from orchtw.config.controllers import ControllerOptions
from orchtw.controllers import chosen, enabled
from orchtw.controllers.certificates.approving import Approver
from orchtw.controllers.certificates.cleaning import Cleaner
from orchtw.controllers.certificates.signing import Means, Signer
from orchtw.controllers.claim_protection import ClaimProtection
from orchtw.controllers.cluster_role_aggregation import ClusterRoleAggregationController
from orchtw.controllers.controller import Controller, ControllerHost, no_metrics
from orchtw.controllers.election import election_of
from orchtw.controllers.garbage_collector import GarbageCollector
from orchtw.controllers.manager import Manager, ManagerSettings
from orchtw.controllers.namespace import NamespaceController
from orchtw.controllers.policy_status import PolicyStatusController
from orchtw.controllers.resource_quota import ResourceQuotaController
from orchtw.controllers.root_ca_publisher import RootCAPublisher
from orchtw.controllers.service_accounts.default_account import ServiceAccountController
from orchtw.controllers.service_accounts.legacy_tokens import LegacyTokenCleaner
from orchtw.controllers.service_accounts.tokens import TokenController
from orchtw.controllers.storage_versions import StorageVersionCollector
from orchtw.controllers.volume_protection import VolumeProtection
from orchtw.naming.naming import Naming
from orchtw.plugins import ControllerPlugin
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins
from orchtw.quota.unsettled import Unsettled
from orchtw.request import RequestInfo, UserInfo
from orchtw.schema.nodes import Node
from orchtw.storage.store import Store

FOREIGN_CHARGES_S: Final = 5.0
"""Seconds within which another server has stored, or given up, a write charged to a quota."""

NOTHING_SIMULATED: Final[Mapping[str, ControllerPlugin]] = {}
_FOLLOWED = ("namespaces", "serviceaccounts", "secrets", "configmaps")
_TOKENS = ("serviceaccounts", "secrets", "configmaps", "pods")
_STORAGE = ("persistentvolumeclaims", "persistentvolumes", "pods")


class ControllerIdentity(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Issuer of tokens in Secrets, and the authorities that accounts of the cluster trust."""

    tokens: AccountTokens
    root_ca_pem: str = ""


class QuotaCharges(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Quota charges of writes in flight in this process; `shared`: other processes charge too."""

    unsettled: Unsettled
    shared: bool


def embedded(
    options: ControllerOptions,
    gates: Mapping[str, bool],
    naming: Naming,
    registry: Registry,
    clock: IReactorTime,
    lost: Callable[[], None],
    *,
    authorizer: Authorizer,
    identity: ControllerIdentity,
    signing: Means,
    charges: QuotaCharges,
    aggregated: Joining | None = None,
    others: Store | None = None,
    plugins: Plugins = NO_PLUGINS,
    simulated: Mapping[str, ControllerPlugin] = NOTHING_SIMULATED,
    metrics_for: Callable[[str], QueueMetrics] = no_metrics,
) -> Manager:
    """Build the controllers that the flags ask for, those of `plugins` and `simulated` ones included; `lost` ends the
    process.

    `aggregated` asks other API servers for those controllers that they concern. `others` is the store that other
    servers share, or None for a store of its own.
    """
    host = attrs.evolve(
        host_of(naming, registry, clock),
        joined=None if aggregated is None else partial(_joined, aggregated, naming),
        access=AskedAccess(authorizer),
        run=signing.offload.run,
        metrics_for=metrics_for,
        unsettled=charges.unsettled,
        foreign_charges_s=FOREIGN_CHARGES_S if charges.shared else 0.0,
    )
    installed, values = {**plugins.of(ControllerPlugin), **simulated}, plugins.values
    names = chosen(options.names, installed) - _idle(options, gates, naming, registry, identity)
    settings = _settings(names, options, gates, identity, signing)
    election = election_of(options.election, naming, registry, others, lost, works=bool(settings.enabled))

    def make(host: ControllerHost) -> list[Controller]:
        added = [plugin.make(host, values) for name, plugin in installed.items() if name in settings.enabled]
        return [*enabled(host, settings), *added]

    return Manager(host, make, election)


def _settings(
    names: frozenset[str],
    options: ControllerOptions,
    gates: Mapping[str, bool],
    identity: ControllerIdentity,
    signing: Means,
) -> ManagerSettings:
    """Return the settings of the controllers of these names."""
    return ManagerSettings(
        enabled=names,
        concurrent_namespace_syncs=options.concurrent_namespace_syncs,
        concurrent_gc_syncs=options.concurrent_gc_syncs,
        namespace_sync_period_s=options.namespace_sync_period_s,
        namespace_deletion_grace_period_s=options.namespace_deletion_grace_period_s,
        pods_first=gates["OrderedNamespaceDeletion"],
        concurrent_quota_syncs=options.concurrent_resource_quota_syncs,
        quota_sync_period_s=options.resource_quota_sync_period_s,
        concurrent_token_syncs=options.concurrent_serviceaccount_token_syncs,
        legacy_token=identity.tokens.legacy,
        generates_secrets=not gates["LegacyServiceAccountTokenNoAutoGeneration"],
        legacy_token_unused_s=options.legacy_token_clean_up_period_s,
        root_ca_pem=identity.root_ca_pem,
        signing=signing,
    )


Joining = Callable[[Client, UserInfo, Callable[[], object] | None], Client]
"""Extends a client of this process to aggregated API servers, which are called as that user.

The last argument is called before each write to them; it raises if writes are no longer allowed.
"""


def _joined(joining: Joining, naming: Naming, client: Client, account: str, tenure: Tenure | None) -> Client:
    return joining(client, service_account(account, naming), None if tenure is None else tenure.guard)


def host_of(naming: Naming, registry: Registry, clock: IReactorTime) -> ControllerHost:
    """Return the services of this process to its controllers."""

    def new_client(account: str, tenure: Tenure | None) -> Client:
        guard = None if tenure is None else tenure.guard
        return InProcessClient(registry, service_account(account, naming), naming.controller_manager, guard)

    def kind_of(group: str, version: str, plural: str) -> tuple[str, Node] | None:
        target = registry.targets.find(group, version, plural)
        return None if target is None else (target.resource.kind, target.codec.schema)

    return ControllerHost(
        new_client=new_client, naming=naming, clock=clock, random=SystemRandom(), now=time.time,
        turns=registry.cacher.turns, kind_of=kind_of,
    )


class AskedAccess:
    """Access checks by the authorizer that requests pass."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def allowed(self, user: UserInfo, asked: RequestInfo) -> bool:
        """Report whether the user may do this."""
        decision = self._authorizer.authorize(user, asked)
        return bool((decision if isinstance(decision, Decision) else await decision).allowed)


def _idle(
    options: ControllerOptions,
    gates: Mapping[str, bool],
    naming: Naming,
    registry: Registry,
    identity: ControllerIdentity,
) -> frozenset[str]:
    """Return the controllers that would have nothing to do.

    These depend on the served resources (ClusterRoles, policies, namespaces, certificate requests), on the garbage
    collector, whose finalizers only it sets, and on authorities to publish.
    """
    idle = _idle_with_accounts(registry, identity)
    tracking, cleanup = "LegacyServiceAccountTokenTracking", "LegacyServiceAccountTokenCleanUp"
    missing = any(registry.targets.find("", "v1", each) is None for each in _TOKENS)
    if missing or not gates[tracking] or not gates[cleanup]:
        idle.add(LegacyTokenCleaner.name)
    policies = naming.group("admissionregistration.orch.io"), "v1", "validatingadmissionpolicies"
    if registry.targets.find(*policies) is None:
        idle.add(PolicyStatusController.name)
    if registry.targets.find(naming.group("rbac.authorization.orch.io"), "v1", "clusterroles") is None:
        idle.add(ClusterRoleAggregationController.name)
    if registry.targets.find(naming.group("certificates.orch.io"), "v1", "certificatesigningrequests") is None:
        idle.update((Approver.name, Cleaner.name, Signer.name))
    if registry.targets.find("", "v1", "resourcequotas") is None:
        idle.add(ResourceQuotaController.name)
    if not options.enable_garbage_collector:
        idle.add(GarbageCollector.name)
    if any(registry.targets.find("", "v1", plural) is None for plural in _STORAGE):
        idle.update((ClaimProtection.name, VolumeProtection.name))
    if not states_versions(gates, naming, registry.targets):
        idle.add(StorageVersionCollector.name)
    return frozenset(idle)


def _idle_with_accounts(registry: Registry, identity: ControllerIdentity) -> set[str]:
    """Return those of them that handle namespaces and service accounts."""
    idle = set()
    served = {plural for plural in _FOLLOWED if registry.targets.find("", "v1", plural) is not None}
    if "namespaces" not in served:
        idle |= {NamespaceController.name, ServiceAccountController.name, RootCAPublisher.name}
    if "serviceaccounts" not in served:
        idle |= {ServiceAccountController.name, TokenController.name}
    if "secrets" not in served:
        idle.add(TokenController.name)
    if "configmaps" not in served or not identity.root_ca_pem:
        idle.add(RootCAPublisher.name)
    return idle


def service_account(name: str, naming: Naming) -> UserInfo:
    """Return a controller's own user (reference CTRL-1)."""
    namespace = naming.system_namespace
    return UserInfo(
        name=f"system:serviceaccount:{namespace}:{name}",
        groups=("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"),
    )
