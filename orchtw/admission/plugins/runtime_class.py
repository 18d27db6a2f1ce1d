"""RuntimeClass: the overhead and scheduling of pods by their class (reference PLUG-15, PLUG-80)."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import POD_SPEC_TAIL
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.runtime_classes import RuntimeClass, runtime_classes
from orchtw.rules.tolerations import merged
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote
from orchtw.values.quantity import quantity
from orchtw.wire.objects import Object

_NO_MATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_NO_OVERHEAD = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClassPlugin:
    """Plugin RuntimeClass; a class just created by another process counts, even if not yet in the cache."""

    def __init__(self, classes: Lister[RuntimeClass]) -> None:
        self._classes = classes

    @classmethod
    def of(cls, host: AdmissionHost) -> RuntimeClassPlugin:
        """Return the plugin, backed by the server's classes."""
        return cls(runtime_classes(host.targets, host.naming))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of Pods."""
        return operation == "CREATE" and not subresource and resource.qualified == "pods"

    async def admit(self, attributes: Attributes) -> None:
        """Set a pod's overhead, nodeSelector and tolerations by its class.

        Raises Forbidden (403) for a missing class, and for values of the pod that conflict with the class.
        """
        pod: Object = attributes.obj or {}
        spec = pod.get("spec") or {}
        name = spec.get("runtimeClassName")
        if name is None:
            return
        found = await self._find(attributes, name)
        overhead, given = found.overhead, spec.get("overhead")
        if overhead is not None and given is not None and not _same(given, overhead):
            raise attributes.forbidden(_NO_MATCH)
        changed = dict(spec)
        if overhead and given is None:
            put(changed, "overhead", dict(overhead), POD_SPEC_TAIL)
        _schedule(attributes, changed, found)
        if changed != spec:
            attributes.fill({**pod, "spec": changed})

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for a missing class, or an overhead other than the class's."""
        spec: Object = (attributes.obj or {}).get("spec") or {}
        name, given = spec.get("runtimeClassName"), spec.get("overhead")
        overhead = None if name is None else (await self._find(attributes, name)).overhead
        if overhead is None and given is not None:
            raise attributes.forbidden(_NO_OVERHEAD)
        if overhead is not None and not _same(given or {}, overhead):
            raise attributes.forbidden(_NO_MATCH)

    async def _find(self, attributes: Attributes, name: str) -> RuntimeClass:
        found = await attributes.find(self._classes, "", name)
        if found is None:
            raise attributes.forbidden(f"pod rejected: RuntimeClass {go_quote(name)} not found")
        return found


def _schedule(attributes: Attributes, spec: Object, found: RuntimeClass) -> None:
    """Add the class's nodeSelector and tolerations to `spec`, without changing its values in place."""
    own = spec.get("nodeSelector") or {}
    for key, value in found.node_selector.items():
        if (other := own.get(key, value)) != value:
            ours, theirs = f"runtimeClass.scheduling.nodeSelector[{key}]", f"pod.spec.nodeSelector[{key}]"
            raise attributes.forbidden(f"conflict: {ours} = {value}; {theirs} = {other}")
    both = {**own, **found.node_selector}
    if both != own:
        put(spec, "nodeSelector", dict(sorted(both.items())), POD_SPEC_TAIL)
    if found.tolerations:
        try:
            every = merged(spec.get("tolerations") or (), found.tolerations)
        except ValueError as error:
            raise attributes.forbidden(f"pod rejected: {error}") from None
        put(spec, "tolerations", [dict(each) for each in every], POD_SPEC_TAIL)


def _same(given: Mapping[str, str], overhead: Mapping[str, str]) -> bool:
    """Report whether two overheads are equal, however their quantities are written."""
    if given == overhead:
        return True
    if given.keys() != overhead.keys():
        return False
    return all(quantity(given[name]).compare(quantity(overhead[name])) == 0 for name in given)
