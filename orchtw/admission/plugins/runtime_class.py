"""RuntimeClass: a pod costs what its class says, and runs where that runs (reference PLUG-15, PLUG-80)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Protocol

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import POD_SPEC_TAIL
from orchtw.registry.runtime_class_lookup import RuntimeClass, RuntimeClasses
from orchtw.rules.tolerations import merged
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote
from orchtw.values.quantity import quantity
from orchtw.wire.objects import Object

_NO_MATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_NO_OVERHEAD = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClassLookup(Protocol):
    """The classes there are."""

    def find(self, name: str) -> RuntimeClass | None:
        """The class of that name, or None."""

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a class counts as missing, or None."""


class RuntimeClassPlugin:
    """A class that another process has just made counts too, though the cache may not know of it yet."""

    def __init__(self, classes: RuntimeClassLookup) -> None:
        self._classes = classes

    @classmethod
    def of(cls, host: AdmissionHost) -> RuntimeClassPlugin:
        """The plugin over the server's own classes."""
        return cls(RuntimeClasses(host.targets, host.naming))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of Pods."""
        return operation == "CREATE" and not subresource and resource.qualified == "pods"

    async def admit(self, attributes: Attributes) -> None:
        """Give a pod what its class has. Forbidden (403): there is no such class, or the pod says something else."""
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
        """Forbidden (403): the pod costs something else than its class says."""
        spec: Object = (attributes.obj or {}).get("spec") or {}
        name, given = spec.get("runtimeClassName"), spec.get("overhead")
        overhead = None if name is None else (await self._find(attributes, name)).overhead
        if overhead is None and given is not None:
            raise attributes.forbidden(_NO_OVERHEAD)
        if overhead is not None and not _same(given or {}, overhead):
            raise attributes.forbidden(_NO_MATCH)

    async def _find(self, attributes: Attributes, name: str) -> RuntimeClass:
        found = self._classes.find(name)
        if found is None and (due := self._classes.due()) is not None:
            await attributes.until_known(due)
            found = self._classes.find(name)
        if found is None:
            raise attributes.forbidden(f"pod rejected: RuntimeClass {go_quote(name)} not found")
        return found


def _schedule(attributes: Attributes, spec: Object, found: RuntimeClass) -> None:
    """Let a pod run on the nodes of its class, in `spec`, whose values stay as they are."""
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
    """Report whether two lists of amounts are equal, however they are written."""
    if given == overhead:
        return True
    if given.keys() != overhead.keys():
        return False
    return all(quantity(given[name]).compare(quantity(overhead[name])) == 0 for name in given)
