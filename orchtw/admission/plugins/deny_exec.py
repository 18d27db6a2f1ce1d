"""DenyEscalatingExec and DenyExecOnPrivileged: no exec or attach to privileged pods (reference PLUG-9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.errors import NotFound
from orchtw.registry.groups.core.pod_annotations import containers_of
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.schema.catalogue import ResourceType
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

SHARED: Final = {"hostNetwork": "host network", "hostPID": "host pid", "hostIPC": "host ipc"}
"""Fields that share host namespaces with a pod, and their names in refusals."""

_CANNOT: Final = "cannot exec into or attach to a"


class DenyExec:
    """Check of the stored pod: none of its fields in `shared` may be set, and no container may be privileged."""

    def __init__(self, pods: Stored, shared: Mapping[str, str]) -> None:
        self._pods = pods
        self._shared = shared

    @classmethod
    def escalating(cls, host: AdmissionHost) -> DenyExec:
        """Return plugin DenyEscalatingExec, backed by the server's pods."""
        return cls(_pods(host.targets), SHARED)

    @classmethod
    def privileged(cls, host: AdmissionHost) -> DenyExec:
        """Return plugin DenyExecOnPrivileged, backed by the server's pods."""
        return cls(_pods(host.targets), {})

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle connections to `exec` and `attach` of Pods."""
        return operation == "CONNECT" and resource.qualified == "pods" and subresource in ("exec", "attach")

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for a pod that has elevated privileges or does not exist."""
        if (due := self._pods.cache.freshness.due(MOST_RECENT)) is not None:
            await attributes.until_known(due)
        entry: Entry | None = self._pods.get(attributes.namespace, attributes.name)
        if entry is None:
            raise attributes.forbidden(str(NotFound.of("pods", "", attributes.name)))
        pod = await attributes.surface.run(len(entry.raw), lambda: self._pods.load(entry))
        if why := self._why_not(pod["spec"]):
            raise attributes.forbidden(f"{_CANNOT} {why}")

    def _why_not(self, spec: Object) -> str:
        for key, what in self._shared.items():
            if spec.get(key):
                return f"container using {what}"
        containers = (container for _, container in containers_of(spec))
        if any((each.get("securityContext") or {}).get("privileged") for each in containers):
            return "privileged container"
        return ""


def _pods(targets: Targets) -> Stored:
    return targets.stored_target("", "v1", "pods").stored
