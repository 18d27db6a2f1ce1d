"""Controls of privileges: privileged mode, capabilities, privilege escalation."""

from __future__ import annotations

from typing import Final

from orchtw.admission.plugins.pod_security.subject import NOTHING, Subject
from orchtw.admission.plugins.pod_security.violations import Violation, containers, quoted

ALL: Final = "ALL"
_NOTHING_ADDED: Final = frozenset(("NET_BIND_SERVICE",))
_USUAL: Final = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)


def privileged(pod: Subject) -> Violation | None:
    """Forbid containers in privileged mode."""
    bad = [name for name, _, security in pod.containers if security.get("privileged")]
    if not bad:
        return None
    return Violation("privileged", f"{containers(bad)} must not set securityContext.privileged=true")


def usual_capabilities(pod: Subject) -> Violation | None:
    """Forbid capabilities beyond those that containers have by default."""
    bad, added = [], set()
    for name, _, security in pod.containers:
        if "capabilities" in security:
            more = set(security["capabilities"].get("add") or ()) - _USUAL
            if more:
                bad.append(name)
                added |= more
    return Violation("non-default capabilities", _added(bad, added)) if bad else None


def dropped_capabilities(pod: Subject) -> Violation | None:
    """Require dropping ALL capabilities, and forbid adding any but NET_BIND_SERVICE."""
    kept, bad, added = [], [], set()
    for name, _, security in pod.containers:
        capabilities = security.get("capabilities") or NOTHING
        if ALL not in (capabilities.get("drop") or ()):
            kept.append(name)
        more = set(capabilities.get("add") or ()) - _NOTHING_ADDED
        if more:
            bad.append(name)
            added |= more
    if not kept and not bad:
        return None
    details = [f'{containers(kept)} must set securityContext.capabilities.drop=["ALL"]'] if kept else []
    if bad:
        details.append(_added(bad, added))
    return Violation("unrestricted capabilities", "; ".join(details))


def no_escalation(pod: Subject) -> Violation | None:
    """Require `allowPrivilegeEscalation: false` of every container."""
    bad = [name for name, _, security in pod.containers if security.get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    detail = f"{containers(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def _added(names: list[str], added: set[str]) -> str:
    return f"{containers(names)} must not include {quoted(sorted(added))} in securityContext.capabilities.add"
