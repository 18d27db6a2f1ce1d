"""Controls of profiles that confine containers: AppArmor, SELinux and seccomp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.admission.plugins.pod_security.subject import NOTHING, Subject
from orchtw.admission.plugins.pod_security.violations import (
    Violation,
    containers,
    cut,
    listed,
    plural,
    quoted,
    setters,
)
from orchtw.registry.groups.core.seccomp import DEFAULT, LOCAL, OLD_DEFAULT
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

_LABEL_TYPES: Final = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))
_CONFINING: Final = ("Localhost", "RuntimeDefault")
_SECCOMP: Final = "seccompProfile"
_APP_ARMOR: Final = "appArmorProfile"


def app_armor(pod: Subject) -> Violation | None:
    """Forbid AppArmor profiles other than the runtime's default and local ones, in annotations and fields."""
    prefix = pod.keys.container_apparmor
    bad = [
        _annotation(key, profile)
        for key, profile in pod.annotations.items()
        if key.startswith(prefix) and profile not in ("", DEFAULT) and not profile.startswith(LOCAL)
    ]
    own, others = _armor(pod.security), [(name, each) for name, _, each in pod.containers if _APP_ARMOR in each]
    wrong = [name for name, each in others if _armor(each)]
    values = sorted({found for found in (own, *(_armor(each) for _, each in others)) if found}) + sorted(bad)
    if not values:
        return None
    one = "forbidden AppArmor profile"
    detail = listed(values) if len(values) == len(bad) else _armor_detail(bool(own), wrong, len(bad), values)
    return Violation(plural(one, f"{one}s", len(values)), detail)


def _armor(security: Object) -> str:
    """Return the type of a container's AppArmor profile if it does not confine the container, else an empty text."""
    profile = security.get(_APP_ARMOR)
    return "" if profile is None or _confines(profile) else _type(profile)


def _armor_detail(own: bool, names: Sequence[str], annotations: int, values: Sequence[str]) -> str:
    """Name what sets profiles, which since release 1.30 fields can, beside annotations."""
    who = [setters(own, names)] if own or names else []
    if annotations:
        who.append(plural("annotation", "annotations", annotations))
    return f"{' and '.join(who)} must not set AppArmor profile type to {quoted(values)}"


def selinux(pod: Subject) -> Violation | None:
    """Forbid SELinux types other than those of containers, and any user or role."""
    own = pod.security.get("seLinuxOptions") or NOTHING
    options = [(name, each["seLinuxOptions"]) for name, _, each in pod.containers if "seLinuxOptions" in each]
    bad = [name for name, each in options if _breaks_out(each)]
    if not bad and not _breaks_out(own):
        return None
    wrong = [own, *(each for _, each in options)]
    types = {each.get("type", "") for each in wrong} - _LABEL_TYPES
    details = [f"{plural('type', 'types', len(types))} {quoted(sorted(types))}"] if types else []
    details += [f"{key} may not be set" for key in ("user", "role") if any(each.get(key) for each in wrong)]
    who = setters(_breaks_out(own), bad)
    return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(details)}")


def seccomp_annotations(pod: Subject) -> Violation | None:
    """Forbid annotations with unconfined seccomp profiles, used before there was a field."""
    if not pod.annotations:
        return None
    keys = [pod.keys.seccomp, *(pod.keys.container_seccomp + name for name, _, _ in pod.containers)]
    bad = {_annotation(key, pod.annotations[key]) for key in keys if _is_loose(pod.annotations.get(key))}
    if not bad:
        return None
    word = plural("annotation", "annotations", len(bad))
    return Violation(_SECCOMP, f"forbidden {word} {listed(sorted(bad))}")


def seccomp(pod: Subject) -> Violation | None:
    """Forbid fields with unconfined seccomp profiles."""
    return _profiles(pod)[0]


def required_seccomp(pod: Subject) -> Violation | None:
    """Require a confining seccomp profile of the pod or of each container, and forbid unconfined ones."""
    wrong, unsaid = _profiles(pod)
    if wrong is not None or not unsaid:
        return wrong
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation(_SECCOMP, f"pod or {containers(unsaid)} {must}")


def _profiles(pod: Subject) -> tuple[Violation | None, Sequence[str]]:
    """Return the violation by unconfined profiles, and the containers without any profile.

    A confining profile of the pod counts for its containers too.
    """
    own = pod.security.get(_SECCOMP)
    types = set() if own is None or _confines(own) else {_type(own)}
    own_is_bad = bool(types)
    bad, unsaid = [], []
    for name, _, security in pod.containers:
        profile = security.get(_SECCOMP)
        if profile is None:
            if own is None or own_is_bad:
                unsaid.append(name)
        elif not _confines(profile):
            bad.append(name)
            types.add(_type(profile))
    if not types:
        return None, unsaid
    must = f"must not set securityContext.seccompProfile.type to {quoted(sorted(types))}"
    return Violation(_SECCOMP, f"{setters(own_is_bad, bad)} {must}"), unsaid


def _type(profile: Object) -> str:
    return str(profile.get("type", ""))


def _confines(profile: Object) -> bool:
    return profile.get("type") in _CONFINING


def _breaks_out(options: Object) -> bool:
    return options.get("type", "") not in _LABEL_TYPES or bool(options.get("user")) or bool(options.get("role"))


def _is_loose(profile: str | None) -> bool:
    return profile is not None and profile not in (DEFAULT, OLD_DEFAULT) and not profile.startswith(LOCAL)


def _annotation(key: str, value: str) -> str:
    return f"{cut(key)}={go_quote(value)}"
