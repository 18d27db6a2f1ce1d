"""Pod security policies: users, groups and privileges that pods may have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.seccomp import LOCAL, profile_causes
from orchtw.registry.groups.policy.sysctls import overlap_causes, sysctl_causes
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import duplicate, go_quote, invalid, not_supported, required
from orchtw.values.file_paths import no_backsteps
from orchtw.values.go_literals import as_number, listed, shown, struct
from orchtw.values.names import dns_subdomain
from orchtw.wire.objects import Object

_SHOWN_CAPABILITIES = listed("core.Capability")
_SHOWN_RANGES = listed("policy.IDRange", struct("policy.IDRange", Min=("min", as_number), Max=("max", as_number)))

ANY: Final = "*"

_AS_ANY = "RunAsAny"
_RULES = {
    "seLinux": ("MustRunAs", _AS_ANY),
    "runAsUser": ("MustRunAs", "MustRunAsNonRoot", _AS_ANY),
    "supplementalGroups": ("MayRunAs", "MustRunAs", _AS_ANY),
    "fsGroup": ("MayRunAs", "MustRunAs", _AS_ANY),
}
_GROUP_RULES = ("MustRunAs", _AS_ANY, "MayRunAs")
_VOLUMES = frozenset(
    (
        *(ANY, "awsElasticBlockStore", "azureDisk", "azureFile", "cephFS", "cinder", "configMap", "csi"),
        *("downwardAPI", "emptyDir", "ephemeral", "fc", "flexVolume", "flocker", "gcePersistentDisk", "gitRepo"),
        *("glusterfs", "hostPath", "iscsi", "nfs", "persistentVolumeClaim", "photonPersistentDisk"),
        *("portworxVolume", "projected", "quobyte", "rbd", "scaleIO", "secret", "storageos", "vsphereVolume"),
    )
)
_DEFAULT, _ALLOWED = "defaultProfileName", "allowedProfileNames"
_APP_ARMOR = "apparmor.security.beta.orch.io/"
_SECCOMP = "seccomp.security.alpha.orch.io/"
_APP_ARMOR_PROFILES = ("", "runtime/default", "unconfined")
_ESCALATES = (
    "Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true"
)


def validate_security_policy(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a policy as a whole."""
    spec = new["spec"]
    causes = _annotation_causes(new["metadata"].get("annotations") or {}, naming)
    for key, supported in _RULES.items():
        causes += _strategy_causes(f"spec.{key}", spec.get(key) or {}, supported)
    if (group := spec.get("runAsGroup")) is not None:
        causes += _group_causes("spec.runAsGroup", group)
    causes += _volume_causes(spec.get("volumes") or ()) + _capability_causes(spec)
    if spec.get("defaultAllowPrivilegeEscalation") and not spec.get("allowPrivilegeEscalation"):
        causes.append(invalid("spec.defaultAllowPrivilegeEscalation", True, _ESCALATES))
    causes += _path_causes(spec.get("allowedHostPaths") or ())
    unsafe, banned = spec.get("allowedUnsafeSysctls") or (), spec.get("forbiddenSysctls") or ()
    causes += sysctl_causes("spec.allowedUnsafeSysctls", unsafe) + sysctl_causes("spec.forbiddenSysctls", banned)
    causes += overlap_causes("spec.allowedUnsafeSysctls", unsafe, banned, equal=True)
    causes += overlap_causes("spec.forbiddenSysctls", banned, unsafe, equal=False)
    if (classes := spec.get("runtimeClass")) is not None:
        causes += _class_causes("spec.runtimeClass", classes)
    return causes


def _strategy_causes(field: str, strategy: Object, supported: Sequence[str]) -> list[Cause]:
    rule = strategy.get("rule", "")
    causes = [] if rule in supported else [not_supported(f"{field}.rule", rule, supported)]
    return causes + _range_causes(f"{field}.ranges", strategy.get("ranges") or ())


def _group_causes(field: str, group: Object) -> list[Cause]:
    rule, ranges = group.get("rule", ""), group.get("ranges") or []
    if rule not in _GROUP_RULES:
        return [not_supported(f"{field}.rule", rule, _GROUP_RULES)]
    if rule == _AS_ANY:
        return [invalid(f"{field}.ranges", shown(_SHOWN_RANGES, ranges), "Ranges must be empty")] if ranges else []
    if not ranges:
        return [invalid(f"{field}.ranges", shown(_SHOWN_RANGES, ranges), "must provide at least one range")]
    return _range_causes(f"{field}.ranges", ranges)


def _range_causes(field: str, ranges: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    for index, each in enumerate(ranges):
        low, high = each.get("min") or 0, each.get("max") or 0
        if low < 0:
            causes.append(invalid(f"{field}[{index}].min", low, "min cannot be negative"))
        if high < 0:
            causes.append(invalid(f"{field}[{index}].max", high, "max cannot be negative"))
        if low > high:
            causes.append(invalid(f"{field}[{index}].min", low, "min cannot be greater than max"))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _volume_causes(volumes: Sequence[str]) -> list[Cause]:
    unknown = [volume for volume in volumes if volume not in _VOLUMES][:MAX_CAUSES]
    return [not_supported("spec.volumes", volume, sorted(_VOLUMES)) for volume in unknown]


def _capability_causes(spec: Object) -> list[Cause]:
    """Check that dropped capabilities are not added too, with the release's paths."""
    drops, causes = spec.get("requiredDropCapabilities") or [], []
    if drops and ANY in (spec.get("allowedCapabilities") or ()):
        detail = "must be empty when all capabilities are allowed by a wildcard"
        causes.append(invalid("requiredDropCapabilities", shown(_SHOWN_CAPABILITIES, drops), detail))
    dropped = set(drops)
    for key in ("defaultAddCapabilities", "allowedCapabilities"):
        both = [capability for capability in spec.get(key) or () if capability in dropped][:MAX_CAUSES]
        detail = f"capability is listed in {key} and requiredDropCapabilities"
        causes += [invalid(key, capability, detail) for capability in both]
    return causes


def _path_causes(paths: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    for index, path in enumerate(paths):
        prefix, field = path.get("pathPrefix"), f"spec.allowedHostPaths[{index}]"
        if not prefix:
            return [*causes, required(field, "is required")]
        causes += [invalid(field, prefix, text) for text in no_backsteps(prefix)]
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _class_causes(field: str, classes: Object) -> list[Cause]:
    """Return the causes of the names of runtime classes."""
    allowed, default = classes.get("allowedRuntimeClassNames") or [], classes.get("defaultRuntimeClassName")
    known: set[str] = set()
    causes: list[Cause] = []
    for index, name in enumerate(allowed):
        place = f"{field}.allowedRuntimeClassNames[{index}]"
        if name != ANY:
            causes += [invalid(place, name, text) for text in dns_subdomain(name)]
        if name in known:
            causes.append(duplicate(place, name))
        known.add(name)
        if len(causes) > MAX_CAUSES:
            break
    if default is not None:
        causes += [invalid(f"{field}.defaultRuntimeClassName", default, text) for text in dns_subdomain(default)]
        if default not in allowed and ANY not in allowed:
            detail = f"default {go_quote(default)} must be allowed"
            causes.append(required(f"{field}.allowedRuntimeClassNames", detail))
    if ANY in allowed and len(allowed) > 1:
        detail = "if '*' is present, must not specify other RuntimeClass names"
        causes.append(invalid(f"{field}.allowedRuntimeClassNames", allowed, detail))
    return causes


def _annotation_causes(annotations: dict[str, str], naming: Naming) -> list[Cause]:
    """Return the causes of annotations with default and allowed profiles."""
    causes: list[Cause] = []
    for prefix, check in ((_APP_ARMOR, _app_armor_causes), (_SECCOMP, _seccomp_causes)):
        default, allowed = naming.translate(prefix + _DEFAULT), naming.translate(prefix + _ALLOWED)
        if profile := annotations.get(default):
            causes += check(f"metadata.annotations[{default}]", profile, profile)
        if profiles := annotations.get(allowed):
            for profile in islice(profiles.split(","), MAX_CAUSES):
                causes += check(f"metadata.annotations[{allowed}]", profile, profiles)
    return causes


def _app_armor_causes(field: str, profile: str, shown: str) -> list[Cause]:
    if profile in _APP_ARMOR_PROFILES or profile.startswith(LOCAL):
        return []
    return [invalid(field, shown, f"invalid AppArmor profile name: {go_quote(profile)}")]


def _seccomp_causes(field: str, profile: str, shown: str) -> list[Cause]:
    return [] if profile == ANY and field.endswith(f"{_ALLOWED}]") else profile_causes(profile, field)


POD_SECURITY_POLICY = KindRecord(
    group="policy",
    kind="PodSecurityPolicy",
    validate=validate_security_policy,
    cells=cells_cluster.security_policy,
)
