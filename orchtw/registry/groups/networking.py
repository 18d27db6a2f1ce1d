"""The networking group."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.kind import Kind
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_cluster

_GROUP = "networking.orch.io"


def set_network_policy_defaults(policy: Object) -> None:
    """A policy is about what comes in, and about what goes out where it has rules for that."""
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


INGRESS = Kind(group=_GROUP, kind="Ingress", generation=SPEC, cells=cells_cluster.ingress)
INGRESS_CLASS = Kind(group=_GROUP, kind="IngressClass", generation=SPEC, cells=cells_cluster.ingress_class)
NETWORK_POLICY = Kind(
    group=_GROUP,
    kind="NetworkPolicy",
    generation=SPEC,
    set_defaults=set_network_policy_defaults,
    cells=cells_cluster.network_policy,
)

KINDS = (INGRESS, INGRESS_CLASS, NETWORK_POLICY)
