"""Controls of the users that containers run as."""

from __future__ import annotations

from orchtw.admission.plugins.pod_security.subject import Subject
from orchtw.admission.plugins.pod_security.violations import Violation, containers, setters


def not_root(pod: Subject) -> Violation | None:
    """Require `runAsNonRoot: true` of the pod or of each container, and forbid `false` everywhere."""
    own = pod.security.get("runAsNonRoot")
    bad, unsaid = [], []
    for name, _, security in pod.containers:
        said = security.get("runAsNonRoot")
        if said is False:
            bad.append(name)
        elif said is None and not own:
            unsaid.append(name)
    reason = "runAsNonRoot != true"
    if bad or own is False:
        return Violation(reason, f"{setters(own is False, bad)} must not set securityContext.runAsNonRoot=false")
    if not unsaid:
        return None
    return Violation(reason, f"pod or {containers(unsaid)} must set securityContext.runAsNonRoot=true")


def no_zero(pod: Subject) -> Violation | None:
    """Forbid running as user 0."""
    bad = [name for name, _, security in pod.containers if security.get("runAsUser") == 0]
    own = pod.security.get("runAsUser") == 0
    if not bad and not own:
        return None
    return Violation("runAsUser=0", f"{setters(own, bad)} must not set runAsUser=0")
