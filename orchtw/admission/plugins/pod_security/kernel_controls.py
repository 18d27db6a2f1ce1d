"""What of the kernel pods may see and set."""

from __future__ import annotations

from typing import Final

from orchtw.admission.plugins.pod_security.subject import Subject
from orchtw.admission.plugins.pod_security.violations import Violation, containers, cut, listed, quoted

_SAFE: Final = frozenset(
    (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
        *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    )
)


def proc_mount(pod: Subject) -> Violation | None:
    """Parts of /proc that are hidden from containers."""
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
    """Settings that concern others on the node."""
    bad = [cut(each["name"]) for each in pod.security.get("sysctls") or () if each["name"] not in _SAFE]
    return Violation("forbidden sysctls", listed(bad)) if bad else None
