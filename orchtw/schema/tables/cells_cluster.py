"""Rows of the remaining groups: networking, storage, access, admission and so on (reference TABLE-8)."""

from __future__ import annotations

from typing import Any

from orchtw.schema.tables.cells import (
    NONE,
    UNKNOWN,
    UNSET,
    TableView,
    boolean,
    condition,
    human_duration,
    selector,
    some,
)
from orchtw.schema.tables.cells_core import balancers
from orchtw.wire.objects import Object

_DEFAULT_CLASS = ("storageclass.orch.io/is-default-class", "storageclass.beta.orch.io/is-default-class")


def _name(obj: Object) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def _spec(obj: Object) -> Object:
    spec: Object = obj.get("spec") or {}
    return spec


def ingress(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Class, Hosts, Address, Ports, Age."""
    spec = _spec(obj)
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    ports = "80, 443" if spec.get("tls") else "80"
    shown = some(hosts, empty="*")
    return [_name(obj), spec.get("ingressClassName") or NONE, shown, ",".join(balancers(obj)), ports, view.age(obj)]


def ingress_class(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Controller, Parameters, Age."""
    spec = _spec(obj)
    parameters = spec.get("parameters")
    shown = NONE
    if parameters:
        group = parameters.get("apiGroup")
        shown = f"{parameters['kind']}{f'.{group}' if group else ''}/{parameters['name']}"
    return [_name(obj), spec.get("controller", ""), shown, view.age(obj)]


def network_policy(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Pod-Selector, Age."""
    return [_name(obj), selector(_spec(obj).get("podSelector")), view.age(obj)]


def endpoint_slice(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, AddressType, Ports, Endpoints, Age."""
    ports = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or ()]
    addresses = [address for entry in obj.get("endpoints") or () for address in entry.get("addresses") or ()]
    shown = [some(ports, empty=UNSET), some(addresses, empty=UNSET)]
    return [_name(obj), obj.get("addressType", ""), *shown, view.age(obj)]


def security_policy(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Priv, Caps, SELinux, RunAsUser, FsGroup, SupGroup, ReadOnlyRootFs, Volumes."""
    spec = _spec(obj)
    rules = [
        (spec.get(key) or {}).get("rule", "") for key in ("seLinux", "runAsUser", "fsGroup", "supplementalGroups")
    ]
    return [
        _name(obj),
        boolean(spec.get("privileged", False)),
        ",".join(spec.get("allowedCapabilities") or ()),
        *rules,
        boolean(spec.get("readOnlyRootFilesystem", False)),
        ",".join(spec.get("volumes") or ()),
    ]


def role_binding(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Role, Age, Users, Groups, ServiceAccounts."""
    role = obj.get("roleRef") or {}
    subjects = obj.get("subjects") or ()
    accounts = [f"{who.get('namespace', '')}/{who['name']}" for who in subjects if who["kind"] == "ServiceAccount"]
    others = [", ".join(who["name"] for who in subjects if who["kind"] == kind) for kind in ("User", "Group")]
    return [_name(obj), f"{role.get('kind', '')}/{role.get('name', '')}", view.age(obj), *others, ", ".join(accounts)]


def signing_request(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Age, SignerName, Requestor, RequestedDuration, Condition."""
    spec = _spec(obj)
    duration_s = spec.get("expirationSeconds")
    return [
        _name(obj),
        view.age(obj),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if duration_s is None else human_duration(duration_s),
        _signing_state(obj),
    ]


def _signing_state(obj: Object) -> str:
    state = "Denied" if condition(obj, "Denied") else "Approved" if condition(obj, "Approved") else "Pending"
    if condition(obj, "Failed"):
        state += ",Failed"
    return f"{state},Issued" if (obj.get("status") or {}).get("certificate") else state


def lease(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Holder, Age."""
    return [_name(obj), _spec(obj).get("holderIdentity", ""), view.age(obj)]


def storage_class(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age."""
    annotations = obj["metadata"].get("annotations") or {}
    default = any(annotations.get(view.naming.translate(key)) == "true" for key in _DEFAULT_CLASS)
    return [
        _name(obj) + (" (default)" if default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        boolean(obj.get("allowVolumeExpansion", False)),
        view.age(obj),
    ]


def volume_attachment(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Attacher, PV, Node, Attached, Age."""
    spec = _spec(obj)
    volume = (spec.get("source") or {}).get("persistentVolumeName", "")
    attached = (obj.get("status") or {}).get("attached", False)
    return [_name(obj), spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, view.age(obj)]


def csi_node(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Drivers, Age."""
    return [_name(obj), len(_spec(obj).get("drivers") or ()), view.age(obj)]


def csi_driver(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, AttachRequired, PodInfoOnMount, Capacity, TokenRequests, Republish, Modes, Age."""
    spec = _spec(obj)
    audiences = [entry.get("audience", "") for entry in spec.get("tokenRequests") or ()]
    return [
        _name(obj),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(audiences) if audiences else UNSET,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        view.age(obj),
    ]


def csi_capacity(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, StorageClassName, Capacity."""
    return [_name(obj), obj.get("storageClassName", ""), obj.get("capacity", UNSET)]


def priority_class(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Value, Global-Default, Age."""
    return [_name(obj), obj.get("value", 0), obj.get("globalDefault", False), view.age(obj)]


def runtime_class(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Handler, Age."""
    return [_name(obj), obj.get("handler", ""), view.age(obj)]


def webhooks(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Webhooks, Age."""
    return [_name(obj), len(obj.get("webhooks") or ()), view.age(obj)]


def flow_schema(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL."""
    spec = _spec(obj)
    return [
        _name(obj),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        spec.get("matchingPrecedence", 0),
        (spec.get("distinguisherMethod") or {}).get("type") or NONE,
        view.age(obj),
        (condition(obj, "Dangling") or {}).get("status", "?"),
    ]


def priority_level(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Type, AssuredConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age."""
    spec = _spec(obj)
    limited = spec.get("limited") or {}
    queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
    shares = limited.get("assuredConcurrencyShares", NONE)
    queues = [queuing.get(key, NONE) for key in ("queues", "handSize", "queueLengthLimit")]
    return [_name(obj), spec.get("type", ""), shares, *queues, view.age(obj)]


def storage_version(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, CommonEncodingVersion, StorageVersions, Age."""
    status = obj.get("status") or {}
    versions = [
        f"{entry.get('apiServerID', '')}={entry.get('encodingVersion', '')}"
        for entry in status.get("storageVersions") or ()
    ]
    return [_name(obj), status.get("commonEncodingVersion", UNSET), some(versions, empty=UNSET), view.age(obj)]


def api_service(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Service, Available, Age."""
    service = _spec(obj).get("service")
    shown = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    found = condition(obj, "Available")
    available = "Unknown" if found is None else found.get("status", UNKNOWN)
    if found is not None and available != "True":
        available = f"{available} ({found.get('reason', '')})"
    return [_name(obj), shown, available, view.age(obj)]


def service_cidr(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, CIDRs, Age."""
    return [_name(obj), ",".join(_spec(obj).get("cidrs") or ()), view.age(obj)]


def ip_address(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, ParentRef, Age."""
    parent = _spec(obj).get("parentRef") or {}
    shown = "/".join(part for key in ("group", "resource", "namespace", "name") if (part := parent.get(key)))
    return [_name(obj), shown.lower(), view.age(obj)]


def attributes_class(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, DriverName, Age."""
    return [_name(obj), obj.get("driverName", ""), view.age(obj)]


def name_and_age(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Age."""
    return [_name(obj), view.age(obj)]


def device_claim(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, State, Age."""
    status = obj.get("status") or {}
    states = ["deleted"] if obj["metadata"].get("deletionTimestamp") else []
    states += ["allocated"] if status.get("allocation") is not None else []
    states += ["reserved"] if status.get("reservedFor") else []
    return [_name(obj), ",".join(states) or "pending", view.age(obj)]


def device_slice(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Node, Driver, Pool, Age."""
    spec = _spec(obj)
    node = spec.get("nodeName") or UNSET
    return [_name(obj), node, spec.get("driver", ""), (spec.get("pool") or {}).get("name", ""), view.age(obj)]


def admission_policy(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Validations (or Mutations), ParamKind, Age."""
    spec = _spec(obj)
    kind = spec.get("paramKind")
    shown = UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
    rules = spec.get("mutations") if "mutations" in spec else spec.get("validations")
    return [_name(obj), len(rules or ()), shown, view.age(obj)]


def admission_policy_binding(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, PolicyName, ParamRef, Age."""
    spec = _spec(obj)
    reference = spec.get("paramRef")
    shown = UNSET
    if reference is not None:
        name, namespace = reference.get("name"), reference.get("namespace")
        shown = (f"{namespace}/{name}" if namespace else name) if name else selector(reference.get("selector"))
    return [_name(obj), spec.get("policyName", ""), shown, view.age(obj)]
