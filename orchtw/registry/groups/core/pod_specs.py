"""Pod specs, in pods and in templates: validation across their fields (reference KIND-36, KIND-37)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.newer_pods import NEWER, newer_spec_causes
from orchtw.registry.groups.core.pod_dns import alias_causes, dns_causes
from orchtw.registry.groups.core.pod_security_context import host_causes, host_process_causes
from orchtw.registry.groups.core.resource_lists import check_amounts
from orchtw.registry.groups.core.scheduling_terms import spread_causes
from orchtw.rules.resource_names import container_resource_name
from orchtw.schema.validation.metadata import validate_labels
from orchtw.schema.validation.problems import within
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import not_supported, required
from orchtw.wire.objects import Object

_CORE = "orch.io.api.core.v1."
_RESTARTS: Final = ("Always", "OnFailure", "Never")
_PREEMPTIONS: Final = ("PreemptLowerPriority", "Never")


def pod_spec_causes(spec: Object, naming: Naming) -> list[Cause]:
    """Return the causes of a pod spec: the common fields first, the rare ones only if present."""
    get = spec.get
    causes: list[Cause] = []
    if (restart := get("restartPolicy", "")) not in _RESTARTS:
        causes.append(not_supported("restartPolicy", restart, _RESTARTS) if restart else required("restartPolicy"))
    policy, config = get("dnsPolicy", ""), get("dnsConfig")
    if policy != "ClusterFirst" or config is not None:
        causes += dns_causes(policy, config)
    if labels := get("nodeSelector"):
        causes += validate_labels(labels, "nodeSelector")
    if (preemption := get("preemptionPolicy")) is not None and preemption not in _PREEMPTIONS:
        place = "preemptionPolicy"
        causes.append(not_supported(place, preemption, _PREEMPTIONS) if preemption else required(place))
    if aliases := get("hostAliases"):
        causes += alias_causes(aliases)
    if not NEWER.isdisjoint(spec):
        causes += newer_spec_causes(spec, naming)
    if constraints := get("topologySpreadConstraints"):
        causes += spread_causes(constraints)
    if overhead := get("overhead"):
        amounts = check_amounts("limits", overhead, naming, lambda name: container_resource_name(name, naming))
        causes += within("overhead", amounts)
    return causes + host_causes(spec) + host_process_causes(spec)


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {_CORE + "PodSpec": lambda new, old: pod_spec_causes(new, naming)}
