"""Controls of access to the host: its namespaces, paths, ports and processes."""

from __future__ import annotations

from orchtw.admission.plugins.pod_security.subject import Subject
from orchtw.admission.plugins.pod_security.violations import (
    Violation,
    containers,
    listed,
    plural,
    quoted,
    setters,
)
from orchtw.wire.objects import Object


def host_namespaces(pod: Subject) -> Violation | None:
    """Forbid the host's network, PID and IPC namespaces."""
    spec = pod.spec
    used = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def host_path_volumes(pod: Subject) -> Violation | None:
    """Forbid volumes of type hostPath."""
    bad = [volume["name"] for volume in pod.spec.get("volumes") or () if "hostPath" in volume]
    if not bad:
        return None
    return Violation("hostPath volumes", f"{plural('volume', 'volumes', len(bad))} {quoted(bad)}")


def host_ports(pod: Subject) -> Violation | None:
    """Forbid host ports of containers."""
    bad, ports = [], set()
    for name, container, _ in pod.containers:
        used = [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")]
        if used:
            bad.append(name)
            ports.update(used)
    if not bad:
        return None
    use = plural("uses", "use", len(bad))
    return Violation(
        "hostPort",
        f"{containers(bad)} {use} {plural('hostPort', 'hostPorts', len(ports))} {listed(sorted(ports))}",
    )


def host_process(pod: Subject) -> Violation | None:
    """Forbid Windows containers that run as host processes."""
    bad = [name for name, _, security in pod.containers if _is_process(security)]
    own = _is_process(pod.security)
    if not bad and not own:
        return None
    detail = f"{setters(own, bad)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail)


def _is_process(security: Object) -> bool:
    return "windowsOptions" in security and bool(security["windowsOptions"].get("hostProcess"))
