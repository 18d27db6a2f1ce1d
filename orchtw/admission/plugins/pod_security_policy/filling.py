"""Defaults that a policy sets in a pod (reference PLUG-105)."""

from __future__ import annotations

from typing import Any, Final

from orchtw.admission.plugins.pod_security_policy.ids import NOT_ROOT
from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy
from orchtw.admission.plugins.pod_security_policy.profile_rules import app_armor_field
from orchtw.registry.groups.core.pod_annotations import CONTAINER_LISTS, AnnotationKeys, annotations_of
from orchtw.registry.groups.core.seccomp import field_of
from orchtw.wire.objects import Object

NOTHING: Final[Object] = {}


def filled(pod: Object, policy: SecurityPolicy, keys: AnnotationKeys) -> Object:
    """Return the pod with the policy's defaults, sharing unchanged parts; the same object if nothing changes.

    Keys may be out of the canonical order.
    """
    spec = pod["spec"]
    security = _with(spec.get("securityContext") or NOTHING, _of_pod(spec, policy))
    more: Object = {} if not security or security is spec.get("securityContext") else {"securityContext": security}
    classes = policy.spec.get("runtimeClass") or NOTHING
    if spec.get("runtimeClassName") is None and classes.get("defaultRuntimeClassName") is not None:
        more["runtimeClassName"] = classes["defaultRuntimeClassName"]
    for key in CONTAINER_LISTS:
        containers = spec.get(key) or ()
        changed = [_filled_container(each, security, policy) for each in containers]
        if any(new is not old for new, old in zip(changed, containers, strict=True)):
            more[key] = changed
    annotations = _annotations(pod, policy, keys)
    if not more and not annotations:
        return pod
    found = {**pod, "spec": _with(spec, more)}
    if annotations:
        found["metadata"] = {**pod["metadata"], "annotations": {**annotations_of(pod), **annotations}}
    return found


def _with(holder: Object, more: Object) -> Object:
    return {**holder, **more} if more else holder


def _of_pod(spec: Object, policy: SecurityPolicy) -> Object:
    """Return the defaults for the pod's own security context."""
    more: Object = {}
    security = spec.get("securityContext") or NOTHING
    group = policy.supplemental.default
    if security.get("supplementalGroups") is None and group is not None:
        more["supplementalGroups"] = [group]
    if security.get("fsGroup") is None and policy.file_groups.default is not None:
        more["fsGroup"] = policy.file_groups.default
    if security.get("seLinuxOptions") is None and policy.selinux is not None:
        more["seLinuxOptions"] = policy.selinux
    return more


def _filled_container(container: Object, pod_security: Object, policy: SecurityPolicy) -> Object:
    own = container.get("securityContext") or NOTHING
    more = _ids(own, pod_security, policy)
    if effective(own, pod_security, "seLinuxOptions") is None and policy.selinux is not None:
        more["seLinuxOptions"] = policy.selinux
    if (capabilities := _capabilities(own.get("capabilities") or NOTHING, policy)) is not None:
        more["capabilities"] = capabilities
    if policy.says("readOnlyRootFilesystem") and own.get("readOnlyRootFilesystem") is None:
        more["readOnlyRootFilesystem"] = True
    if own.get("allowPrivilegeEscalation") is None:
        given = policy.spec.get("defaultAllowPrivilegeEscalation")
        if given is not None or not policy.allows_escalation:
            more["allowPrivilegeEscalation"] = bool(given)
    return {**container, "securityContext": {**own, **more}} if more else container


def _ids(own: Object, pod_security: Object, policy: SecurityPolicy) -> Object:
    more: Object = {}
    user = effective(own, pod_security, "runAsUser")
    if user is None and policy.users.default is not None:
        user = more["runAsUser"] = policy.users.default
    if effective(own, pod_security, "runAsGroup") is None and policy.groups.default is not None:
        more["runAsGroup"] = policy.groups.default
    is_open = user is None and effective(own, pod_security, "runAsNonRoot") is None
    if is_open and policy.users.rule == NOT_ROOT:
        more["runAsNonRoot"] = True
    return more


def _capabilities(own: Object, policy: SecurityPolicy) -> Object | None:
    """Return a container's capabilities with those that the policy adds and drops; None if unchanged."""
    added, dropped = set(own.get("add") or ()), set(own.get("drop") or ())
    adds = (policy.names("defaultAddCapabilities") - dropped) | added
    drops = policy.names("requiredDropCapabilities") | dropped
    if len(adds) == len(added) and len(drops) == len(dropped):
        return None
    both = {"add": sorted(adds), "drop": sorted(drops)}
    return {key: names for key, names in both.items() if names}


def _annotations(pod: Object, policy: SecurityPolicy, keys: AnnotationKeys) -> Object:
    """Return the annotations for default profiles that the pod lacks."""
    more: Object = {}
    annotations, spec = annotations_of(pod), pod["spec"]
    if policy.seccomp.default and not annotations.get(keys.seccomp) and field_of(spec) is None:
        more[keys.seccomp] = policy.seccomp.default
    if policy.app_armor.default:
        for container in (each for key in CONTAINER_LISTS for each in spec.get(key) or ()):
            key = keys.container_apparmor + container["name"]
            if not annotations.get(key) and app_armor_field(pod, container) is None:
                more[key] = policy.app_armor.default
    return more


def effective(own: Object, pod_security: Object, key: str) -> Any:
    """Return a field of a container's security context, or else of its pod's."""
    found = own.get(key)
    return pod_security.get(key) if found is None else found
