"""ExtendedResourceToleration: pods tolerate the taints of the resources that they request (reference PLUG-12)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.naming.naming import Naming
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import POD_SPEC_TAIL, RUNNING
from orchtw.rules.resource_names import is_extended
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object


class ExtendedResourceToleration:
    """Plugin ExtendedResourceToleration; the key of the taint is the name of the resource."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming

    @classmethod
    def of(cls, host: AdmissionHost) -> ExtendedResourceToleration:
        """Return the plugin for the server's vocabulary."""
        return cls(host.naming)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods."""
        return operation in ("CREATE", "UPDATE") and not subresource and resource.qualified == "pods"

    async def admit(self, attributes: Attributes) -> None:
        """Add a toleration for each extended resource that a pod requests, unless present."""
        pod = attributes.obj or {}
        spec = pod.get("spec") or {}
        present = spec.get("tolerations") or []
        tolerations = present
        for name in self._asked_for(spec):
            tolerations = _with(tolerations, {"key": name, "operator": "Exists", "effect": "NoSchedule"})
        if tolerations != present:
            spec = dict(spec)
            put(spec, "tolerations", tolerations, POD_SPEC_TAIL)
            attributes.fill({**pod, "spec": spec})

    def _asked_for(self, spec: Object) -> list[str]:
        requests = (
            ((container.get("resources") or {}).get("requests") or {})
            for name in RUNNING
            for container in spec.get(name) or ()
        )
        return sorted({name for each in requests for name in each if is_extended(name, self._naming)})


def _with(tolerations: list[Object], wanted: Object) -> list[Object]:
    """Return the tolerations with `wanted`, which replaces those that differ from it in tolerationSeconds only."""
    matches = [_untimed(each) == wanted for each in tolerations]
    if any(matches):
        return [wanted if found else each for each, found in zip(tolerations, matches, strict=True)]
    return [*tolerations, wanted]


def _untimed(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value != ""}
