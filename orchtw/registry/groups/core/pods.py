"""Pods: creation and deletion, the writable parts by path, and the defaults that templates do not get."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from orchtw.errors import Cause
from orchtw.quota.pods import container_requests
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_annotations import synchronise_seccomp
from orchtw.registry.groups.core.pod_resizes import resize_causes, resized
from orchtw.registry.groups.core.pod_status import validate_pod_status
from orchtw.registry.groups.core.pod_templates import POD_SPEC_TAIL, RUNNING, set_pod_spec_defaults
from orchtw.registry.groups.core.pod_updates import ephemeral_update_causes
from orchtw.registry.groups.core.pod_validation import pod_causes, validate_pod
from orchtw.registry.groups.core.pod_warnings import warn_of_pod
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import SPEC
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_pod
from orchtw.wire.objects import Object

_COMPUTE = ("cpu", "memory")
_EPHEMERAL_TAIL = (
    *("ephemeralContainers", "restartPolicy", "terminationGracePeriodSeconds", "activeDeadlineSeconds", "dnsPolicy"),
    *("nodeSelector", *POD_SPEC_TAIL),
)
_MIRROR = "orch.io/config.mirror"
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
"""Condition of a new pod that gates hold back."""
_QOS_TAIL = (
    *("qosClass", "ephemeralContainerStatuses", "resize", "resourceClaimStatuses", "extendedResourceClaimStatus"),
    *("allocatedResources", "resources", "nodeAllocatableResourceClaimStatuses"),
)
_ADDRESSES_TAIL = ("startTime", "initContainerStatuses", "containerStatuses", *_QOS_TAIL)
_SERVICE_LINKS_TAIL = POD_SPEC_TAIL[POD_SPEC_TAIL.index("enableServiceLinks") :]


class PodStrategy(Strategy):
    """Pods start Pending and are deleted gracefully once a node runs them (reference DEL-6)."""

    DEFAULT_GRACE_S = 30

    def configure(self, gates: Mapping[str, bool]) -> None:
        if gates["PodObservedGenerationTracking"]:
            self.traits = attrs.evolve(self.traits, generation=SPEC)

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        synchronise_seccomp(obj, self.naming)

    def reset_status(self, obj: Object) -> None:
        status: Object = {"phase": "Pending"}
        if obj["spec"].get("schedulingGates"):
            status["conditions"] = [dict(_GATED)]
        obj["status"] = {**status, "qosClass": qos_class(obj["spec"])}

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        kept = super().prepare_for_status(new, old, now)
        status, qos = kept.get("status") or {}, old.get("status", {}).get("qosClass")
        if qos and not status.get("qosClass"):
            kept["status"] = dict(status)
            put(kept["status"], "qosClass", qos, _QOS_TAIL)
        return kept

    def validate_subresource(self, name: str, new: Object, old: Object) -> list[Cause]:
        """Validate a write to a sub-resource: ephemeral containers are added beside a spec that stays."""
        if name == "binding":
            return []
        if name == "resize":
            causes = resize_causes(new, old, qos_class, self.naming.translate(_MIRROR))
            return causes or self.validate_declared(new, old) + pod_causes(new, old, self.naming)
        if name == "ephemeralcontainers":
            causes = self.validate_declared(new, old) + pod_causes(new, old, self.naming)
            return causes + ephemeral_update_causes(new["spec"], old["spec"])
        return super().validate_subresource(name, new, old)

    def grace_period_s(self, obj: Object, asked_s: int | None) -> int:
        spec = obj.get("spec", {})
        if not spec.get("nodeName") or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return 0
        if asked_s is None:
            asked_s = int(spec.get("terminationGracePeriodSeconds", self.DEFAULT_GRACE_S))
        return 1 if asked_s < 0 else asked_s

    def prepare_for_subresource(self, name: str, new: Object, old: Object, now: str) -> Object | None:
        if name == "binding":
            return new
        if name == "resize":
            return resized(new, old)
        if name != "ephemeralcontainers":
            return super().prepare_for_subresource(name, new, old, now)
        spec = dict(old["spec"])
        spec.pop("ephemeralContainers", None)
        if wanted := new.get("spec", {}).get("ephemeralContainers"):
            put(spec, "ephemeralContainers", wanted, _EPHEMERAL_TAIL)
        return {**old, "spec": spec}


def qos_class(spec: Object) -> str:
    """Return a pod's quality of service: Guaranteed, Burstable or BestEffort, by cpu and memory.

    Those of the pod as a whole count if it has any, else those of its containers.
    """
    resources = [spec["resources"]] if spec.get("resources") else [
        c.get("resources") or {} for key in ("containers", "initContainers") for c in spec.get(key) or ()
    ]
    requests = [_positive(r.get("requests")) for r in resources]
    limits = [_positive(r.get("limits")) for r in resources]
    if not any(requests) and not any(limits):
        return "BestEffort"
    full = all(set(limit) == set(_COMPUTE) for limit in limits)
    same = all(not request or request == limit for request, limit in zip(requests, limits, strict=True))
    return "Guaranteed" if full and same else "Burstable"


def _positive(amounts: dict[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (amounts or {}).items() if key in _COMPUTE and value != "0"}


def set_pod_defaults(pod: Object) -> None:
    """Fill in the defaults of a pod: those of templates, and its own (reference KIND-17)."""
    spec = pod["spec"]
    set_pod_spec_defaults(spec)
    if "enableServiceLinks" not in spec:
        put(spec, "enableServiceLinks", True, _SERVICE_LINKS_TAIL)
    for key in RUNNING:
        for container in spec.get(key) or ():
            _request_limits(container["resources"])
    if whole := spec.get("resources"):
        _request_of_pod(spec, whole)
    if status := pod.get("status"):
        _name_addresses(pod, status)


def _name_addresses(pod: Object, status: Object) -> None:
    """Set both names of a pod's first address; if they differ, the older one counts (reference KIND-39)."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        pod["status"] = status = dict(status)
        put(status, "podIPs", [{"ip": address}], _ADDRESSES_TAIL)
    elif addresses and not address and (first := addresses[0].get("ip")):
        pod["status"] = status = dict(status)
        put(status, "podIP", first, ("podIPs", *_ADDRESSES_TAIL))


def _request_limits(resources: Object) -> None:
    """Fill in missing requests from the limits."""
    limits = resources.get("limits")
    if limits:
        requests = resources.get("requests") or {}
        if not limits.keys() <= requests.keys():
            resources["requests"] = dict(sorted({**limits, **requests}.items()))


def _request_of_pod(spec: Object, whole: Object) -> None:
    """Fill in missing requests of the pod as a whole: the containers' sum, or the limit if they request nothing."""
    limits, requests = whole.get("limits") or {}, dict(whole.get("requests") or {})
    found = container_requests(spec)
    for name in _COMPUTE:
        if name not in requests and name in found:
            requests[name] = found[name]
    for name, amount in limits.items():
        requests.setdefault(name, amount)
    if requests:
        whole["requests"] = dict(sorted(requests.items()))


POD = KindRecord(
    group="",
    kind="Pod",
    strategy=PodStrategy,
    status_ignores=("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    set_defaults=set_pod_defaults,
    validate=validate_pod,
    validate_status=validate_pod_status,
    warn=warn_of_pod,
    cells=cells_pod.pod,
)
