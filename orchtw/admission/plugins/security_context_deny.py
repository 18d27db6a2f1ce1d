"""SecurityContextDeny: no users, groups or SELinux options of a pod's own (reference PLUG-7)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

_OF_PODS: Final = {
    "supplementalGroups": "SupplementalGroups",
    "seLinuxOptions": "SELinuxOptions",
    "runAsUser": "RunAsUser",
    "fsGroup": "FSGroup",
}
_OF_CONTAINERS: Final = {key: _OF_PODS[key] for key in ("seLinuxOptions", "runAsUser")}
_LISTS: Final = ("initContainers", "containers")


class SecurityContextDeny:
    """Plugin SecurityContextDeny; a refusal names the first field that is set."""

    @classmethod
    def of(cls, host: AdmissionHost) -> SecurityContextDeny:
        """Return the plugin, which needs nothing from the server."""
        return cls()

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods."""
        return operation in ("CREATE", "UPDATE") and not subresource and resource.qualified == "pods"

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for a pod that sets one of the fields."""
        spec: Object = (attributes.obj or {})["spec"]
        security = spec.get("securityContext") or {}
        for key, name in _OF_PODS.items():
            if security.get(key) is not None:
                raise attributes.forbidden(f"pod.Spec.SecurityContext.{name} is forbidden")
        for container in (each for key in _LISTS for each in spec.get(key) or ()):
            security = container.get("securityContext") or {}
            for key, name in _OF_CONTAINERS.items():
                if security.get(key) is not None:
                    raise attributes.forbidden(f"SecurityContext.{name} is forbidden")
