"""Priority: sets the priority of pods by their class, and allows one default class (reference PLUG-13, PLUG-14)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.emission_order import put
from orchtw.registry.listers.priority_classes import PriorityClass, PriorityClasses
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

_NO_CLASS: Final = PriorityClass("", 0, "PreemptLowerPriority", False)
_COMPUTED: Final = "priority admission controller computed"
_FROM_CLASS_ON: Final = (
    *("priorityClassName", "priority", "dnsConfig", "readinessGates", "runtimeClassName", "enableServiceLinks"),
    *("preemptionPolicy", "overhead", "topologySpreadConstraints", "setHostnameAsFQDN", "os"),
)
_KEPT: Final = ("priority", "preemptionPolicy")


class Priority:
    """Plugin Priority; a class just created by another process counts, even if not yet in the cache."""

    def __init__(self, classes: PriorityClasses, classes_resource: str) -> None:
        self._classes = classes
        self._classes_resource = classes_resource

    @classmethod
    def of(cls, host: AdmissionHost) -> Priority:
        """Return the plugin, backed by the server's classes."""
        group = host.naming.group("scheduling.orch.io")
        return cls(PriorityClasses(host.targets, host.naming), f"priorityclasses.{group}")

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods and PriorityClasses."""
        if subresource or operation not in ("CREATE", "UPDATE"):
            return False
        return resource.qualified in ("pods", self._classes_resource)

    async def admit(self, attributes: Attributes) -> None:
        """Set the priority of a new pod, or restore one that an update leaves out.

        Raises Forbidden (403) for a value other than the class's, and for a missing class.
        """
        pod = attributes.obj
        if attributes.resource.qualified != "pods" or pod is None:
            return
        spec = pod.get("spec") or {}
        if attributes.operation == "CREATE":
            given = await self._given(attributes, spec)
        else:
            before: Object = (attributes.old or {}).get("spec") or {}
            given = {key: before[key] for key in _KEPT if spec.get(key) is None and before.get(key) is not None}
        if any(spec.get(key) != value for key, value in given.items()):
            spec = dict(spec)
            for key, value in given.items():
                put(spec, key, value, _FROM_CLASS_ON)
            attributes.fill({**pod, "spec": spec})

    async def _given(self, attributes: Attributes, spec: Object) -> Object:
        name = spec.get("priorityClassName")
        found = await self._find(attributes, name) if name else self._classes.default() or _NO_CLASS
        priority, policy = spec.get("priority"), spec.get("preemptionPolicy")
        if priority is not None and priority != found.value:
            raise attributes.forbidden(
                f"the integer value of priority ({priority}) must not be provided in pod spec; {_COMPUTED} "
                f"{found.value} from the given PriorityClass name"
            )
        given: Object = {"priority": found.value}
        if found.name:
            given["priorityClassName"] = found.name
        if found.preemption_policy:
            if policy is not None and policy != found.preemption_policy:
                raise attributes.forbidden(
                    f"the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; {_COMPUTED} "
                    f"{found.preemption_policy} from the given PriorityClass name"
                )
            given["preemptionPolicy"] = found.preemption_policy
        return given

    async def _find(self, attributes: Attributes, name: str) -> PriorityClass:
        found = await attributes.find(self._classes, "", name)
        if found is None:
            raise attributes.forbidden(f"no PriorityClass with name {name} was found")
        return found

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for a second default class."""
        obj = attributes.obj
        if attributes.resource.qualified == "pods" or obj is None or not obj.get("globalDefault"):
            return
        if (due := self._classes.due()) is not None:
            await attributes.until_known(due)
        known = self._classes.default()
        if known is not None and (attributes.operation == "CREATE" or known.name != attributes.name):
            why = f"PriorityClass {known.name} is already marked as default. Only one default can exist"
            raise attributes.forbidden(why)
