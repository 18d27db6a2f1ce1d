"""Rules for the profiles that confine containers (reference PLUG-107)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.plugins.pod_security_policy.profiles import ANY, Profiles
from orchtw.errors import Cause
from orchtw.registry.groups.core.pod_annotations import AnnotationKeys, annotations_of
from orchtw.registry.groups.core.seccomp import annotation_for, field_of
from orchtw.values.causes import forbidden, go_quote, invalid, required
from orchtw.wire.objects import Object

_PLACE: Final = "pod.metadata.annotations"


def selinux(field: str, options: Object | None, must: Object | None) -> list[Cause]:
    """Return the causes that reject SELinux options; with `must` None, all are allowed."""
    if must is None:
        return []
    if options is None:
        return [required(field)]
    return [
        invalid(f"{field}.{key}", options.get(key, ""), f"must be {must.get(key, '')}")
        for key in ("level", "role", "type", "user")
        if not _same(key, options.get(key, ""), must.get(key, ""))
    ]


def _same(key: str, found: str, wanted: str) -> bool:
    """Report whether two options are equal; levels are, whatever the order of their categories."""
    if key != "level" or found == wanted:
        return found == wanted
    one, other = (text.partition(":") for text in (found, wanted))
    if not one[1] or not other[1] or one[0] != other[0]:
        return False
    return sorted(one[2].split(",")) == sorted(other[2].split(","))


def app_armor(pod: Object, container: Object, profiles: Profiles, keys: AnnotationKeys) -> list[Cause]:
    """Return the causes that reject the AppArmor profile of a container."""
    if profiles.allowed is None:
        return []
    key = keys.container_apparmor + container["name"]
    set_by_field = app_armor_field(pod, container)
    profile = annotations_of(pod).get(key, "") if set_by_field is None else annotation_for(set_by_field)
    field = f"{_PLACE}[{key}]"
    if not profile:
        return [forbidden(field, "AppArmor profile must be set")]
    if profile in profiles.allowed:
        return []
    return [forbidden(field, f"{profile} is not an allowed profile. Allowed values: {go_quote(profiles.told)}")]


def app_armor_field(pod: Object, container: Object) -> Object | None:
    """Return the AppArmor profile in the fields that release 1.30 added: nodes obey it before an annotation."""
    for holder in (container, pod["spec"]):
        if (found := (holder.get("securityContext") or {}).get("appArmorProfile")) is not None:
            profile: Object = found
            return profile
    return None


def pod_seccomp(pod: Object, profiles: Profiles, keys: AnnotationKeys) -> list[Cause]:
    """Return the causes that reject the seccomp profile of a pod."""
    return _seccomp(f"{_PLACE}[{keys.seccomp}]", _of_pod(pod, keys), profiles)


def container_seccomp(pod: Object, container: Object, profiles: Profiles, keys: AnnotationKeys) -> list[Cause]:
    """Return the causes that reject the seccomp profile of a container, its own or else its pod's."""
    key = keys.container_seccomp + container["name"]
    annotation, field = annotations_of(pod).get(key), field_of(container)
    if annotation is None and field is not None:
        annotation = annotation_for(field)
    return _seccomp(f"{_PLACE}[{key}]", _of_pod(pod, keys) if annotation is None else annotation, profiles)


def _of_pod(pod: Object, keys: AnnotationKeys) -> str:
    field = field_of(pod["spec"])
    return annotations_of(pod).get(keys.seccomp) or ("" if field is None else annotation_for(field))


def _seccomp(field: str, profile: str, profiles: Profiles) -> list[Cause]:
    allowed = profiles.allowed or frozenset()
    if ANY in allowed or profile in allowed:
        return []
    if not allowed:
        return [forbidden(field, "seccomp may not be set")] if profile else []
    text = f"{profile} is not an allowed seccomp profile. Valid values are {profiles.told}"
    return [forbidden(field, text)]
