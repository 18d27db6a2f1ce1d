"""LimitRanger: default resources of containers, and limits for containers, pods and claims (reference PLUG-33)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.naming.naming import Naming
from orchtw.quota.limit_ranges import LimitRange, shown
from orchtw.registry.emission_order import put
from orchtw.registry.listers.namespace_lister import NamespaceLister
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

_FROM_ANNOTATIONS_ON: Final = ("annotations", "ownerReferences", "finalizers", "managedFields")


class LimitRanger:
    """Plugin LimitRanger; the limit ranges of a namespace apply one after the other, by name."""

    def __init__(self, ranges: NamespaceLister[LimitRange], naming: Naming) -> None:
        self._ranges = ranges
        self._annotation = f"{naming.label_domain}/limit-ranger"

    @classmethod
    def of(cls, host: AdmissionHost) -> LimitRanger:
        """Return the plugin, backed by the server's limit ranges."""
        stored = host.targets.stored_target("", "v1", "limitranges").stored
        return cls(NamespaceLister(stored, LimitRange.of), host.naming)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of Pods, whose resources cannot change later, and creates and updates of claims."""
        if subresource:
            return False
        if resource.qualified == "pods":
            return operation == "CREATE"
        return resource.qualified == "persistentvolumeclaims" and operation in ("CREATE", "UPDATE")

    async def admit(self, attributes: Attributes) -> None:
        """Set missing requests and limits of a pod's containers, and note them in an annotation."""
        ranges = self._ranges.of(attributes.namespace)
        pod = attributes.obj
        if not ranges or pod is None or attributes.resource.qualified != "pods":
            return
        completed = await attributes.surface.run(attributes.size_bytes, lambda: self._completed(pod, ranges))
        if completed is not pod:
            attributes.fill(completed)

    def _completed(self, pod: Object, ranges: Sequence[tuple[object, LimitRange]]) -> Object:
        for _, each in ranges:
            pod, note = each.complete(pod)
            if note:
                meta = dict(pod["metadata"])
                annotations = {**(meta.get("annotations") or {}), self._annotation: note}
                put(meta, "annotations", dict(sorted(annotations.items())), _FROM_ANNOTATIONS_ON)
                pod = {**pod, "metadata": meta}
        return pod

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for amounts out of bounds; objects that are being deleted are not checked."""
        ranges = self._ranges.of(attributes.namespace)
        obj, old = attributes.obj, attributes.old
        if not ranges or obj is None or (old is not None and old["metadata"].get("deletionTimestamp")):
            return
        is_pod = attributes.resource.qualified == "pods"

        def problems() -> list[str]:
            found = (each.pod_problems(obj) if is_pod else each.claim_problems(obj) for _, each in ranges)
            return next(filter(None, found), [])

        if texts := await attributes.surface.run(attributes.size_bytes, problems):
            raise attributes.forbidden(shown(texts))
