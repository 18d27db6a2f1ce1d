"""DefaultTolerationSeconds: how long pods stay on nodes that are not ready or unreachable (reference PLUG-11)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.config.admission import AdmissionOptions
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import POD_SPEC_TAIL
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

_EFFECT: Final = "NoExecute"


class DefaultTolerationSeconds:
    """Plugin DefaultTolerationSeconds; `seconds` are the times by the keys of taints."""

    def __init__(self, seconds: dict[str, int]) -> None:
        self._seconds = seconds

    @classmethod
    def of(cls, host: AdmissionHost, options: AdmissionOptions) -> DefaultTolerationSeconds:
        """Return the plugin with the times of the flags."""
        translate = host.naming.translate
        return cls(
            {
                translate("node.orch.io/not-ready"): options.default_not_ready_toleration_seconds,
                translate("node.orch.io/unreachable"): options.default_unreachable_toleration_seconds,
            }
        )

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods."""
        return operation in ("CREATE", "UPDATE") and not subresource and resource.qualified == "pods"

    async def admit(self, attributes: Attributes) -> None:
        """Add a toleration for each of the taints that none of the pod's tolerations covers."""
        pod = attributes.obj or {}
        spec = pod.get("spec") or {}
        present = spec.get("tolerations") or []
        covered = {each.get("key", "") for each in present if each.get("effect", "") in (_EFFECT, "")}
        if "" in covered:
            return
        added = [_toleration(key, seconds) for key, seconds in self._seconds.items() if key not in covered]
        if added:
            spec = dict(spec)
            put(spec, "tolerations", [*present, *added], POD_SPEC_TAIL)
            attributes.fill({**pod, "spec": spec})


def _toleration(key: str, seconds: int) -> Object:
    return {"key": key, "operator": "Exists", "effect": _EFFECT, "tolerationSeconds": seconds}
