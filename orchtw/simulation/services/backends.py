"""Pods behind a Service, with the ports on which it reaches them (reference SIM-70)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from orchtw.wire.objects import Object

ENDED: Final = frozenset({"Succeeded", "Failed"})
IPV4, IPV6 = "IPv4", "IPv6"


class Port(msgspec.Struct, frozen=True, order=True):
    """A port of endpoints: its name in the Service, number, protocol, and application protocol."""

    name: str
    port: int
    protocol: str
    app_protocol: str = ""

    def shown(self) -> Object:
        """Return the port as Endpoints show it."""
        made: Object = {"port": self.port, "protocol": self.protocol}
        if self.name:
            made["name"] = self.name
        return {**made, "appProtocol": self.app_protocol} if self.app_protocol else made


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """A pod behind a Service. `addresses` are those by IP family, `ports` those that the Service's ports lead to.

    `ready` includes pods of Services that publish addresses early; `serving` is the pod's own condition.
    """

    addresses: dict[str, str]
    ports: tuple[Port, ...]
    pod: Object
    ready: bool
    serving: bool
    terminating: bool
    hostname: str

    @property
    def node(self) -> str:
        """Return the name of the pod's node."""
        return self.pod["spec"].get("nodeName") or ""

    @property
    def reference(self) -> Object:
        """Return the pod as Endpoints name it."""
        meta = self.pod["metadata"]
        return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def selects(service: Object) -> bool:
    """Report whether a Service has endpoints that controllers find."""
    return bool(service["spec"].get("selector")) and service["spec"].get("type") != "ExternalName"


def headless(service: Object) -> bool:
    """Report whether a Service has no address of its own."""
    return bool(service["spec"].get("clusterIP") == "None")


def backends(service: Object, pods: Sequence[Object]) -> Iterator[Backend]:
    """Yield the pods that can be reached, of those that a Service selects."""
    early = bool(service["spec"].get("publishNotReadyAddresses"))
    for pod in pods:
        status = pod.get("status") or {}
        addresses = _addresses(status)
        if not addresses or status.get("phase") in ENDED:
            continue
        terminating = bool(pod["metadata"].get("deletionTimestamp"))
        serving = _is_ready(status)
        yield Backend(
            addresses=addresses,
            ports=tuple(sorted(_ports(service, pod))),
            pod=pod,
            ready=early or (serving and not terminating),
            serving=serving,
            terminating=terminating,
            hostname=_hostname(service, pod),
        )


def seen_of(pod: Object) -> tuple[object, ...]:
    """Return what the endpoints of Services depend on, of a pod."""
    status, meta = pod.get("status") or {}, pod["metadata"]
    return (
        meta.get("labels"), bool(meta.get("deletionTimestamp")), _is_ready(status), status.get("podIPs"),
        status.get("podIP"), status.get("phase") in ENDED, pod["spec"].get("nodeName"),
    )  # fmt: skip


def _addresses(status: Object) -> dict[str, str]:
    given = [each["ip"] for each in status.get("podIPs") or ()] or [status.get("podIP")]
    found: dict[str, str] = {}
    for address in filter(None, given):
        found.setdefault(IPV6 if ":" in address else IPV4, address)
    return found


def _is_ready(status: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ())


def _ports(service: Object, pod: Object) -> Iterator[Port]:
    for each in service["spec"].get("ports") or ():
        protocol = each.get("protocol") or "TCP"
        target = each.get("targetPort") or each["port"]
        number = target if isinstance(target, int) else _named(pod, target, protocol)
        if number:
            yield Port(each.get("name") or "", number, protocol, each.get("appProtocol") or "")


def _named(pod: Object, name: str, protocol: str) -> int:
    """Return the container port of that name; 0 if the pod has none."""
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in (*spec["containers"], *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == name and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return 0


def _hostname(service: Object, pod: Object) -> str:
    """Return the pod's host name, if the Service is the pod's subdomain."""
    same = pod["spec"].get("subdomain") == service["metadata"]["name"]
    return (pod["spec"].get("hostname") or "") if same else ""
