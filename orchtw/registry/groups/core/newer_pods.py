"""Fields of pods since release 1.24: gates, claims, resources of the whole pod (reference KIND-96).

A field that the emulated release lacks is never there, so that its rules need no switch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.quota.pods import container_requests
from orchtw.registry.groups.core.resource_requirements import resource_causes
from orchtw.values.causes import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from orchtw.values.file_paths import descending_path
from orchtw.values.names import dns_label, dns_subdomain, qualified_name
from orchtw.values.quantity import quantity
from orchtw.wire.objects import Object

NEWER: Final = frozenset(
    ("schedulingGates", "resourceClaims", "hostUsers", "resources", "hostnameOverride", "schedulingGroup")
)
"""Keys of a pod spec with rules here."""

_GATES: Final = "schedulingGates"
_LONGEST_HOST_NAME: Final = 64
_LONGEST_PROFILE: Final = 4095
_POD_RESOURCES: Final = ("cpu", "memory")
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_INCLUSIONS: Final = ("Honor", "Ignore")
_MAX_RULES: Final = 20
_MAX_EXIT_CODES: Final = 255
_RESTARTS: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_RESIZES: Final = ("NotRequired", "RestartContainer")
_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")


def newer_spec_causes(spec: Object, naming: Naming) -> list[Cause]:
    """Return the causes that reject the newer fields of a pod spec."""
    causes = _gate_causes(spec.get(_GATES) or ())
    if claims := spec.get("resourceClaims"):
        causes += _claim_causes(claims)
    if spec.get("hostUsers") is False:
        causes += _user_namespace_causes(spec)
    if (resources := spec.get("resources")) is not None:
        causes += _pod_resource_causes(spec, resources, naming)
    if (host := spec.get("hostnameOverride")) is not None:
        causes += _host_name_causes(spec, host)
    if (group := spec.get("schedulingGroup")) is not None:
        name = group.get("podGroupName") or ""
        place = "schedulingGroup.podGroupName"
        causes += [invalid(place, name, text) for text in dns_subdomain(name)] if name else [required(place)]
    return causes


def _gate_causes(gates: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        if len(causes) > MAX_CAUSES:
            break
        name, place = gate.get("name", ""), f"{_GATES}[{index}]"
        causes += [invalid(place, name, text) for text in qualified_name(name)]
        if name in seen:
            causes.append(duplicate(place, name))
        seen.add(name)
    return causes


def gated_node_causes(spec: Object) -> list[Cause]:
    """Return the cause for a node of a pod that gates hold back."""
    if not spec.get(_GATES) or not spec.get("nodeName"):
        return []
    return [forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")]


def gate_update_causes(new: Object, old: Object) -> list[Cause]:
    """Return the causes for gates that an update adds: they can only be removed."""
    known = {gate.get("name") for gate in old.get(_GATES) or ()}
    added = [
        (index, gate.get("name", ""))
        for index, gate in enumerate(new.get(_GATES) or ())
        if gate.get("name") not in known
    ]
    text = "only deletion is allowed, but found new scheduling gate '{}'"
    return [forbidden(f"spec.{_GATES}[{index}].name", text.format(name)) for index, name in added[:MAX_CAUSES]]


def _claim_causes(claims: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        if len(causes) > MAX_CAUSES:
            break
        name, place = claim.get("name", ""), f"resourceClaims[{index}]"
        if not name:
            causes.append(required(f"{place}.name"))
        elif name in seen:
            causes.append(duplicate(f"{place}.name", name))
        else:
            causes += [invalid(f"{place}.name", name, text) for text in dns_label(name)]
        seen.add(name)
        given = {key: value for key in _CLAIM_KEYS if (value := claim.get(key)) is not None}
        if len(given) != 1:
            what = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            missing = f"must specify one of: {', '.join(f'`{key}`' for key in _CLAIM_KEYS)}"
            causes.append(invalid(place, claim, what if given else missing))
        for key, value in given.items():
            causes += [invalid(f"{place}.{key}", value, text) for text in dns_subdomain(value)]
    return causes


_CLAIM_KEYS: Final = ("resourceClaimName", "resourceClaimTemplateName")


def _user_namespace_causes(spec: Object) -> list[Cause]:
    """Return the causes for namespaces of the node beside a user namespace of the pod."""
    text = "when `hostUsers` is false"
    return [forbidden(key, text) for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]


def _host_name_causes(spec: Object, host: str) -> list[Cause]:
    causes = []
    if spec.get("hostNetwork"):
        causes.append(forbidden("hostnameOverride", "may not be set when hostNetwork is true"))
    if spec.get("setHostnameAsFQDN"):
        causes.append(forbidden("hostnameOverride", "may not be set when setHostnameAsFQDN is true"))
    if len(host) > _LONGEST_HOST_NAME:
        causes.append(too_long("hostnameOverride", _LONGEST_HOST_NAME))
    return causes + [invalid("hostnameOverride", host, text) for text in dns_subdomain(host)]


def _pod_resource_causes(spec: Object, resources: Object, naming: Naming) -> list[Cause]:
    """Validate the resources of the pod as a whole, which must suffice for its containers."""
    causes = []
    if resources.get("claims"):
        causes.append(forbidden("resources.claims", "claims are not supported for Resources at pod-level"))
    for key in ("limits", "requests"):
        for name in resources.get(key) or ():
            if name not in _POD_RESOURCES and not name.startswith("hugepages-"):
                place = f"resources.{key}[{name}]"
                causes.append(not_supported(place, name, (*_POD_RESOURCES, "hugepages-")))
    causes += resource_causes({key: value for key, value in resources.items() if key != "claims"}, naming)
    asked = container_requests(spec)
    for name, amount in (resources.get("requests") or {}).items():
        if (total := asked.get(name)) is not None and quantity(total).compare(quantity(amount)) > 0:
            text = f"must be greater than or equal to aggregate container requests of {total}"
            causes.append(invalid(f"resources.requests[{name}]", amount, text))
    return causes


def container_causes(container: Object, *, restarts: bool) -> list[Cause]:
    """Return the causes that reject a container's rules for restarts and for changed resources.

    `restarts`: any container may have a restart policy; else its pod says which.
    """
    return (_restart_causes(container) if restarts else []) + _resize_causes(container.get("resizePolicy") or ())


def _restart_causes(container: Object) -> list[Cause]:
    causes: list[Cause] = []
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None and rules:
        causes.append(required("restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy is not None and policy not in _RESTARTS:
        causes.append(not_supported("restartPolicy", policy, _RESTARTS))
    if len(rules) > _MAX_RULES:
        causes.append(too_many("restartPolicyRules", len(rules), _MAX_RULES))
    for index, rule in enumerate(rules[:_MAX_RULES]):
        causes += _rule_causes(rule, f"restartPolicyRules[{index}]")
    return causes


def _rule_causes(rule: Object, place: str) -> list[Cause]:
    causes: list[Cause] = []
    action, codes = rule.get("action", ""), rule.get("exitCodes")
    if not action:
        causes.append(required(f"{place}.action", "must specify action"))
    elif action not in _ACTIONS:
        causes.append(not_supported(f"{place}.action", action, _ACTIONS))
    if codes is None:
        return [*causes, required(f"{place}.exitCodes", "must be specified")]
    operator, values = codes.get("operator", ""), codes.get("values") or ()
    if not operator:
        causes.append(required(f"{place}.exitCodes.operator", "must specify operator"))
    elif operator not in _OPERATORS:
        causes.append(not_supported(f"{place}.exitCodes.operator", operator, _OPERATORS))
    if len(values) > _MAX_EXIT_CODES:
        causes.append(too_many(f"{place}.exitCodes.values", len(values), _MAX_EXIT_CODES))
    return causes


def _resize_causes(policies: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        place = f"resizePolicy[{index}]"
        if name in seen:
            causes.append(duplicate(place, name))
        seen.add(name)
        if name not in _POD_RESOURCES:
            causes.append(not_supported(place, name, _POD_RESOURCES) if name else required(place))
        if restart not in _RESIZES:
            causes.append(not_supported(place, restart, _RESIZES) if restart else required(place))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def claim_use_causes(container: Object, claims: frozenset[Any]) -> list[Cause]:
    """Return the causes for claims that a container uses and its pod does not have."""
    causes: list[Cause] = []
    seen: set[tuple[str, str]] = set()
    used = (container.get("resources") or {}).get("claims") or ()
    for index, claim in enumerate(used[: MAX_CAUSES + 1]):
        name, request = claim.get("name", ""), claim.get("request", "")
        place = f"resources.claims[{index}]"
        if not name:
            causes.append(required(f"{place}.name"))
        elif (name, request) in seen or (name, "") in seen:
            causes.append(duplicate(place, f"{name}/{request}" if request else name))
        elif name not in claims:
            text = f'Not found: "{name}": must be one of the names in pod.spec.resourceClaims'
            causes.append(Cause("FieldValueNotFound", text, f"{place}.name"))
        seen.add((name, request))
    return causes


def check_app_armor(profile: Object, old: Object | None) -> list[Cause]:
    """Validate that a profile is named for type Localhost only."""
    kind, name = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        return [required("type", "type is required when appArmorProfile is set")]
    if kind not in _PROFILES:
        return [not_supported("type", kind, _PROFILES)]
    place = "localhostProfile"
    if kind != "Localhost":
        text = "can only be set when AppArmor type is Localhost"
        return [] if name is None else [invalid(place, name, text)]
    if name is None or not name.strip():
        return [required(place, "must be set when AppArmor type is Localhost")]
    causes = [invalid(place, name, "must not be padded with whitespace")] if name.strip() != name else []
    return [*causes, too_long(place, _LONGEST_PROFILE)] if len(name) > _LONGEST_PROFILE else causes


def check_spread(constraint: Object, old: Object | None) -> list[Cause]:
    """Validate the least number of domains, and the treatment of nodes and labels."""
    causes: list[Cause] = []
    if (least := constraint.get("minDomains")) is not None:
        action = constraint.get("whenUnsatisfiable", "")
        if least <= 0:
            causes.append(invalid("minDomains", least, "must be greater than zero"))
        if action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            causes.append(invalid("minDomains", least, text))
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if (policy := constraint.get(key)) is not None and policy not in _INCLUSIONS:
            causes.append(not_supported(key, policy, _INCLUSIONS))
    return causes + label_key_causes(constraint, "matchLabelKeys")


def label_key_causes(holder: Object, *fields: str) -> list[Cause]:
    """Return the causes that reject keys of labels that are added to a selector."""
    causes: list[Cause] = []
    selector = holder.get("labelSelector")
    selected = {*((selector or {}).get("matchLabels") or {})}
    selected |= {each.get("key") for each in (selector or {}).get("matchExpressions") or ()}
    used: Mapping[str, Sequence[str]] = {key: found for key in fields if (found := holder.get(key))}
    for key, labels in used.items():
        if selector is None:
            causes.append(forbidden(key, "must not be specified when labelSelector is not set"))
            continue
        for index, label in enumerate(labels[: MAX_CAUSES + 1]):
            causes += [invalid(f"{key}[{index}]", label, text) for text in qualified_name(label)]
            if fields == ("matchLabelKeys",) and label in selected:
                causes.append(invalid(f"{key}[{index}]", label, "exists in both matchLabelKeys and labelSelector"))
    both = set(used.get("matchLabelKeys", ())) & set(used.get("mismatchLabelKeys", ()))
    for index, label in enumerate(used.get("matchLabelKeys", ())):
        if label in both:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            causes.append(invalid(f"matchLabelKeys[{index}]", label, text))
    return causes


def mount_causes(mount: Object, place: str) -> list[Cause]:
    """Return the causes that reject a recursive read-only mount."""
    mode = mount.get("recursiveReadOnly")
    if mode is None:
        return []
    place = f"{place}.recursiveReadOnly"
    if mode not in _READ_ONLY:
        return [not_supported(place, mode, _READ_ONLY)]
    if mode == "Disabled":
        return []
    causes = []
    if not mount.get("readOnly"):
        causes.append(forbidden(place, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        causes.append(forbidden(place, "may only be specified when mountPropagation is None or not specified"))
    return causes


def file_key_causes(reference: Object) -> list[Cause]:
    """Return the causes that reject a reference to a key of a file."""
    causes = [required(key) for key in ("volumeName", "path", "key") if not reference.get(key)]
    if path := reference.get("path"):
        causes += [invalid("path", path, text) for text in descending_path(path)]
    return causes


def used_claims(spec: Object) -> frozenset[Any]:
    """Return the names of a pod's claims."""
    return frozenset(claim.get("name") for claim in spec.get("resourceClaims") or ())
