"""Registry of kinds: the record of each that has one, and the strategy made from it."""

from __future__ import annotations

from orchtw.naming.naming import Naming
from orchtw.registry.groups import (
    admissionregistration,
    apiextensions,
    apiregistration,
    apiserverinternal,
    apps,
    autoscaling,
    batch,
    certificates,
    coordination,
    core,
    discovery,
    flowcontrol,
    networking,
    node,
    policy,
    rbac,
    resource,
    scheduling,
    storage,
    storagemigration,
)
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.schema.kinds import GroupKind

_GROUPS: tuple[tuple[KindRecord, ...], ...] = (
    core.KINDS,
    admissionregistration.KINDS,
    apiextensions.KINDS,
    apiregistration.KINDS,
    apiserverinternal.KINDS,
    apps.KINDS,
    autoscaling.KINDS,
    batch.KINDS,
    certificates.KINDS,
    coordination.KINDS,
    discovery.KINDS,
    flowcontrol.KINDS,
    networking.KINDS,
    node.KINDS,
    policy.KINDS,
    rbac.KINDS,
    resource.KINDS,
    scheduling.KINDS,
    storage.KINDS,
    storagemigration.KINDS,
)

KINDS: dict[GroupKind, KindRecord] = {kind.group_kind: kind for kinds in _GROUPS for kind in kinds}
"""Records of stored kinds; a kind without one, such as a custom resource, has generic rules."""


def strategy_for(resource: ResourceType, naming: Naming, codec: Codec) -> Strategy:
    """Return the strategy of a stored resource; `codec` is that of its storage version."""
    kind = KINDS.get(GroupKind.of(resource.group, resource.kind, naming))
    return Strategy(resource, naming, codec) if kind is None else kind.strategy(resource, naming, codec, kind)
