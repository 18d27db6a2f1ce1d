"""Validation of a pod by a policy, in the release's order of causes (reference PLUG-106)."""

from __future__ import annotations

from itertools import chain, islice
from typing import Final

from orchtw.admission.plugins.pod_security_policy import profile_rules, volume_rules
from orchtw.admission.plugins.pod_security_policy.filling import NOTHING, effective
from orchtw.admission.plugins.pod_security_policy.ids import MUST, NOT_ROOT, group_causes, wrong
from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy
from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.core.pod_annotations import AnnotationKeys, containers_of
from orchtw.registry.groups.policy.sysctls import SAFE
from orchtw.values.causes import forbidden, go_quote, invalid, required
from orchtw.wire.objects import Object

_HOST: Final = {"hostNetwork": "Host network", "hostPID": "Host PID", "hostIPC": "Host IPC"}
_ALL: Final = "*"


def problems(pod: Object, policy: SecurityPolicy, keys: AnnotationKeys) -> list[Cause]:
    """Return the causes that reject a pod, up to MAX_CAUSES of them; empty: it satisfies the policy."""
    containers = (
        _container_causes(pod, container, f"spec.{place}", policy, keys)
        for place, container in containers_of(pod["spec"])
    )
    found = chain(_pod_causes(pod, policy, keys), chain.from_iterable(containers))
    return list(islice(found, MAX_CAUSES))


def _pod_causes(pod: Object, policy: SecurityPolicy, keys: AnnotationKeys) -> list[Cause]:
    spec = pod["spec"]
    security, place = spec.get("securityContext") or NOTHING, "spec.securityContext"
    file_group = security.get("fsGroup")
    causes = group_causes(f"{place}.fsGroup", policy.file_groups, None if file_group is None else [file_group])
    groups = security.get("supplementalGroups")
    causes += group_causes(f"{place}.supplementalGroups", policy.supplemental, groups)
    causes += profile_rules.pod_seccomp(pod, policy.seccomp, keys)
    causes += profile_rules.selinux(f"{place}.seLinuxOptions", security.get("seLinuxOptions"), policy.selinux)
    causes += [
        invalid(f"{place}.{key}", True, f"{name} is not allowed to be used")
        for key, name in _HOST.items()
        if spec.get(key) and not policy.says(key)
    ]
    causes += _sysctls(security, policy)
    causes += volume_rules.volumes(spec, policy)
    return causes + _runtime_class(spec, policy)


def _container_causes(
    pod: Object, container: Object, place: str, policy: SecurityPolicy, keys: AnnotationKeys
) -> list[Cause]:
    own, pod_security = container.get("securityContext") or NOTHING, pod["spec"].get("securityContext") or NOTHING
    at = f"{place}.securityContext"
    causes = _user(own, pod_security, at, policy)
    group = effective(own, pod_security, "runAsGroup")
    causes += group_causes(f"{at}.runAsGroup", policy.groups, None if group is None else [group])
    options = effective(own, pod_security, "seLinuxOptions")
    causes += profile_rules.selinux(f"{at}.seLinuxOptions", options, policy.selinux)
    causes += profile_rules.app_armor(pod, container, policy.app_armor, keys)
    causes += profile_rules.container_seccomp(pod, container, policy.seccomp, keys)
    if own.get("privileged") and not policy.says("privileged"):
        causes.append(invalid(f"{at}.privileged", True, "Privileged containers are not allowed"))
    kind = own.get("procMount", "Default")
    if kind not in (policy.names("allowedProcMountTypes") or ("Default",)):
        causes.append(invalid(f"{at}.procMount", kind, "ProcMountType is not allowed"))
    causes += _capabilities(own.get("capabilities"), f"{at}.capabilities", policy)
    causes += _host_ports(container, f"{place}.hostPort", policy)
    return causes + _file_system(own, at, policy) + _escalation(own, at, policy)


def _user(own: Object, pod_security: Object, at: str, policy: SecurityPolicy) -> list[Cause]:
    user = effective(own, pod_security, "runAsUser")
    not_root = effective(own, pod_security, "runAsNonRoot")
    if policy.users.rule == MUST:
        if user is None:
            return [required(f"{at}.runAsUser")]
        detail = f"must be in the ranges: {policy.users.shown}"
        return [] if policy.users.allow(user) else [invalid(f"{at}.runAsUser", user, detail)]
    if policy.users.rule == NOT_ROOT:
        if user is None and not_root is None:
            return [required(f"{at}.runAsNonRoot", "must be true")]
        if not_root is False:
            return [invalid(f"{at}.runAsNonRoot", False, "must be true")]
        if user == 0:
            return [invalid(f"{at}.runAsUser", 0, "running with the root UID is forbidden")]
    return []


def _capabilities(own: Object | None, at: str, policy: SecurityPolicy) -> list[Cause]:
    defaults, must = policy.names("defaultAddCapabilities"), policy.spec.get("requiredDropCapabilities") or ()
    if own is None:
        detail = "required capabilities are not set on the securityContext"
        return [invalid(at, "null", detail)] if defaults or must else []
    allowed = policy.names("allowedCapabilities")
    if _ALL in allowed:
        return []
    added, dropped = own.get("add") or (), own.get("drop") or ()
    causes = [
        invalid(f"{at}.add", name, "capability may not be added")
        for name in added
        if name not in defaults and name not in allowed
    ]
    shown = f"[]core.Capability{{{', '.join(map(go_quote, dropped))}}}" if dropped else "[]core.Capability(nil)"
    return causes + [
        wrong(f"{at}.drop", shown, f"{name} is required to be dropped but was not found")
        for name in must
        if name not in dropped
    ]


def _host_ports(container: Object, at: str, policy: SecurityPolicy) -> list[Cause]:
    ranges = [(each.get("min", 0), each.get("max", 0)) for each in policy.spec.get("hostPorts") or ()]
    told = ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
    ports = [port["hostPort"] for port in container.get("ports") or () if port.get("hostPort", 0) > 0]
    return [
        invalid(at, port, f"Host port {port} is not allowed to be used. Allowed ports: [{told}]")
        for port in ports
        if not any(low <= port <= high for low, high in ranges)
    ]


def _file_system(own: Object, at: str, policy: SecurityPolicy) -> list[Cause]:
    if not policy.says("readOnlyRootFilesystem") or own.get("readOnlyRootFilesystem"):
        return []
    field, name = f"{at}.readOnlyRootFilesystem", "ReadOnlyRootFilesystem"
    if "readOnlyRootFilesystem" in own:
        return [invalid(field, False, f"{name} must be set to true")]
    return [invalid(field, "null", f"{name} may not be nil and must be set to true")]


def _escalation(own: Object, at: str, policy: SecurityPolicy) -> list[Cause]:
    asked = own.get("allowPrivilegeEscalation")
    if policy.allows_escalation or asked is False:
        return []
    detail = "Allowing privilege escalation for containers is not allowed"
    return [invalid(f"{at}.allowPrivilegeEscalation", "null" if asked is None else asked, detail)]


def _sysctls(security: Object, policy: SecurityPolicy) -> list[Cause]:
    causes = []
    for index, each in enumerate(security.get("sysctls") or ()):
        name, field = each["name"], f"pod.spec.securityContext.sysctls[{index}]"
        if _matches(name, policy.names("forbiddenSysctls")):
            causes.append(forbidden(field, f"sysctl {go_quote(name)} is not allowed"))
        elif name not in SAFE and not _matches(name, policy.names("allowedUnsafeSysctls")):
            causes.append(forbidden(field, f"unsafe sysctl {go_quote(name)} is not allowed"))
    return causes


def _matches(name: str, patterns: frozenset[str]) -> bool:
    return name in patterns or any(each.endswith("*") and name.startswith(each[:-1]) for each in patterns)


def _runtime_class(spec: Object, policy: SecurityPolicy) -> list[Cause]:
    classes, asked = policy.spec.get("runtimeClass"), spec.get("runtimeClassName")
    if classes is None or asked is None:
        return []
    allowed = classes.get("allowedRuntimeClassNames") or ()
    return [] if asked in allowed or _ALL in allowed else [invalid("spec.runtimeClassName", asked, "")]
