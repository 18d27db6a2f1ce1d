"""Kernel parameters that a node's agent lets pods set (reference SIM-20)."""

from __future__ import annotations

from typing import Final

from orchtw.wire.objects import Object

SAFE: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_syncookies",
    }
)


def forbidden_sysctl(spec: Object) -> str:
    """Return the first parameter of a pod that nodes do not allow; empty if they allow all."""
    wanted = (spec.get("securityContext") or {}).get("sysctls") or ()
    return next((each["name"] for each in wanted if each["name"].replace("/", ".") not in SAFE), "")
