"""LimitPodHardAntiAffinityTopology: required anti-affinity cannot span more than a node (reference PLUG-8)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.schema.catalogue import ResourceType


class LimitPodHardAntiAffinityTopology:
    """Plugin LimitPodHardAntiAffinityTopology; `hostname` is the only topologyKey that required terms may have."""

    def __init__(self, hostname: str) -> None:
        self._hostname = hostname

    @classmethod
    def of(cls, host: AdmissionHost) -> LimitPodHardAntiAffinityTopology:
        """Return the plugin with the label of the server's vocabulary."""
        return cls(host.naming.translate("orch.io/hostname"))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods."""
        return operation in ("CREATE", "UPDATE") and not subresource and resource.qualified == "pods"

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for any other key."""
        spec = (attributes.obj or {}).get("spec") or {}
        anti = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
        for term in anti.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            if (key := term.get("topologyKey", "")) != self._hostname:
                raise attributes.forbidden(
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key "
                    f"{self._hostname} is allowed"
                )
