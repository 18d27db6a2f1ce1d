"""Rows of the core group's kinds that do not run pods (reference TABLE-8)."""

from __future__ import annotations

from typing import Any

from orchtw.schema.tables.cells import NONE, UNKNOWN, UNSET, TableView, condition, pairs, some
from orchtw.wire.objects import Object

_ACCESS = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS_ANNOTATION = "volume.beta.orch.io/storage-class"


def _name(obj: Object) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def service(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector."""
    spec = obj.get("spec") or {}
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP", "")]
    ports = ",".join(map(_port, spec.get("ports") or ())) or NONE
    return [
        _name(obj),
        spec.get("type", ""),
        addresses[0] or NONE,
        _external(obj, spec),
        ports,
        view.age(obj),
        pairs(spec.get("selector")),
    ]


def _port(port: Object) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol', 'TCP')}"


def _external(obj: Object, spec: Object) -> str:
    kind = spec.get("type")
    own = spec.get("externalIPs") or []
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(own) or NONE
    if kind == "LoadBalancer":
        return ",".join([*balancers(obj), *own]) or "<pending>"
    return spec.get("externalName", "") if kind == "ExternalName" else UNKNOWN


def balancers(obj: Object) -> list[str]:
    """Return the addresses of the load balancers in an object's status, sorted."""
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return sorted({entry.get("ip") or entry.get("hostname", "") for entry in ingress} - {""})


def endpoints(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Endpoints, Age."""
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [entry["ip"] for entry in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [_joined(ip, port["port"]) for port in ports for ip in addresses] if ports else addresses
    return [_name(obj), some(found), view.age(obj)]


def _joined(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def node(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Status, Roles, Age, Version, IPs, OS-Image, Kernel-Version, Container-Runtime."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    ready = condition(obj, "Ready")
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    if spec.get("unschedulable"):
        state += ",SchedulingDisabled"
    version = info.get(f"{view.naming.node_agent}Version", "")
    addresses = [_address(status, kind) for kind in ("InternalIP", "ExternalIP")]
    facts = [info.get(key) or UNKNOWN for key in ("osImage", "kernelVersion", "containerRuntimeVersion")]
    return [_name(obj), state, _roles(obj, view), view.age(obj), version, *addresses, *facts]


def _address(status: Object, kind: str) -> str:
    addresses = (entry["address"] for entry in status.get("addresses") or () if entry["type"] == kind)
    return next(addresses, NONE)


def _roles(obj: Object, view: TableView) -> str:
    prefix = view.naming.translate("node-role.orch.io/")
    role_label = f"{view.naming.label_domain}/role"
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    if labels.get(role_label):
        roles.add(labels[role_label])
    return ",".join(sorted(roles - {""})) or NONE


def event(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Last Seen, Type, Reason, Object, Subobject, Source, Message, First Seen, Count, Name."""
    first = view.since(obj.get("firstTimestamp") or obj.get("eventTime"))
    series = obj.get("series") or {}
    last_time = series.get("lastObservedTime") or obj.get("lastTimestamp")
    about = obj.get("involvedObject") or {}
    named = f"/{about['name']}" if about.get("name") else ""
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent", "")
    host = source.get("host") or obj.get("reportingInstance", "")
    count = series.get("count", 0) + 1 if series else obj.get("count", 0) or 1
    return [
        view.since(last_time) if last_time else first,
        obj.get("type", ""),
        obj.get("reason", ""),
        about.get("kind", "").lower() + named,
        about.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        obj.get("message", "").strip(),
        first,
        count,
        _name(obj),
    ]


def namespace(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Status, Age."""
    return [_name(obj), (obj.get("status") or {}).get("phase", ""), view.age(obj)]


def secret(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Type, Data, Age."""
    return [_name(obj), obj.get("type", ""), len(obj.get("data") or ()), view.age(obj)]


def config_map(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Data, Age."""
    return [_name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), view.age(obj)]


def service_account(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Secrets, Age."""
    return [_name(obj), len(obj.get("secrets") or ()), view.age(obj)]


def _phase(obj: Object) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    phase: str = (obj.get("status") or {}).get("phase", "")
    return phase


def _modes(modes: list[str] | None) -> str:
    return ",".join(_ACCESS[mode] for mode in dict.fromkeys(modes or ()) if mode in _ACCESS)


def _class(obj: Object, view: TableView) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    found: str = annotations.get(view.naming.translate(_CLASS_ANNOTATION)) or obj["spec"].get("storageClassName", "")
    return found


def volume(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Capacity, Modes, Policy, Status, Claim, StorageClass, Reason, Age, VolumeMode."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef")
    return [
        _name(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(obj, view),
        status.get("reason", ""),
        view.age(obj),
        spec.get("volumeMode", UNSET),
    ]


def claim(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Status, Volume, Capacity, Access Modes, StorageClass, Age, VolumeMode."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    bound = spec.get("volumeName", "")
    return [
        _name(obj),
        _phase(obj),
        bound,
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        _class(obj, view),
        view.age(obj),
        spec.get("volumeMode", UNSET),
    ]


def component_status(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Status, Message, Error."""
    found = next((entry for entry in obj.get("conditions") or () if entry.get("type") == "Healthy"), None)
    state = {"True": "Healthy", "False": "Unhealthy"}.get((found or {}).get("status", ""), "Unknown")
    return [_name(obj), state, (found or {}).get("message", ""), (found or {}).get("error", "")]


def resource_quota(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Age, Request, Limit."""
    status = obj.get("status") or {}
    used = status.get("used") or {}
    shown = [(key, f"{key}: {used.get(key, '0')}/{hard}") for key, hard in sorted((status.get("hard") or {}).items())]
    requests = ", ".join(text for key, text in shown if not key.startswith("limits."))
    limits = ", ".join(text for key, text in shown if key.startswith("limits."))
    return [_name(obj), view.age(obj), requests, limits]
