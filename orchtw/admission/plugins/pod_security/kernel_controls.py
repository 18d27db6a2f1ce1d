"""Controls of kernel settings: /proc and sysctls."""

from __future__ import annotations

from orchtw.admission.plugins.pod_security.subject import Subject
from orchtw.admission.plugins.pod_security.violations import Violation, containers, cut, listed, quoted
from orchtw.registry.groups.policy.sysctls import SAFE


def proc_mount(pod: Subject) -> Violation | None:
    """Forbid a procMount other than Default."""
    bad, kinds = [], set()
    for name, _, security in pod.containers:
        kind = security.get("procMount", "Default")
        if kind != "Default":
            bad.append(name)
            kinds.add(kind)
    if not bad:
        return None
    detail = f"{containers(bad)} must not set securityContext.procMount to {quoted(sorted(kinds))}"
    return Violation("procMount", detail)


def sysctls(pod: Subject) -> Violation | None:
    """Forbid sysctls that are not known to be safe."""
    bad = [cut(each["name"]) for each in pod.security.get("sysctls") or () if each["name"] not in SAFE]
    return Violation("forbidden sysctls", listed(bad)) if bad else None
