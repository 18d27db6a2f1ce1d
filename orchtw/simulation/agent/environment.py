"""Environment of containers as a node's agent makes it: Services, ConfigMaps, Secrets, limits (reference SIM-21)."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.client.interface import Client
from orchtw.simulation.pods.plans import RESOLVED
from orchtw.wire.objects import Object

MOST_SERVICES: Final = 500
"""Limit of the Services of a namespace that have variables: they are read again while a log is followed."""

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_HEADLESS: Final = (None, "", "None")
_MASTER: Final = ("default", "kubernetes")
"""Service of the API server, whose variables every container has."""

Variable = dict[str, Any]


class _Sources(msgspec.Struct, frozen=True):
    """Texts of ConfigMaps and Secrets, by kind and name."""

    texts: Mapping[tuple[str, str], Mapping[str, str]]

    def of(self, kind: str, source: Object | None) -> Mapping[str, str]:
        """Return the texts of a ConfigMap or Secret that a variable refers to; empty for one that is not there."""
        return self.texts.get((kind, (source or {}).get("name", "")), {})


async def with_environment(client: Client, pod: Object) -> Object:
    """Return a copy of a pod in which each container's variables have their values."""
    spec = pod["spec"]
    containers = [each for field in _CONTAINERS for each in spec.get(field) or ()]
    sources = await _sources(client, pod["metadata"]["namespace"], containers)
    services = list(_resolved(await _service_variables(client, pod)))
    limits = await _node_limits(client, spec)
    filled = {
        field: [_filled(each, services, sources, limits) for each in spec[field]]
        for field in _CONTAINERS
        if spec.get(field)
    }
    return {**pod, "spec": {**spec, **filled}}


def _filled(
    container: Object, services: Sequence[Variable], sources: _Sources, limits: Mapping[str, str]
) -> Object:
    env = [*services, *_resolved(_from_sources(container, sources)), *_own(container, sources)]
    resources = container.get("resources") or {}
    limited = {**resources, "limits": {**limits, **(resources.get("limits") or {})}}
    return {**container, "env": env, "resources": limited}


def _resolved(values: Iterable[tuple[str, str]]) -> Iterator[Variable]:
    """Yield variables whose values are texts as they are: references in them are not replaced."""
    for name, text in values:
        yield {"name": name, "valueFrom": {RESOLVED: text}}


def _from_sources(container: Object, sources: _Sources) -> Iterator[tuple[str, str]]:
    for each in container.get("envFrom") or ():
        prefix = each.get("prefix") or ""
        for kind, field in (("configmaps", "configMapRef"), ("secrets", "secretRef")):
            for name, text in sources.of(kind, each.get(field)).items():
                yield f"{prefix}{name}", text


def _own(container: Object, sources: _Sources) -> Iterator[Variable]:
    for each in container.get("env") or ():
        found = each.get("valueFrom") or {}
        kinds = (("configmaps", found.get("configMapKeyRef")), ("secrets", found.get("secretKeyRef")))
        reference = next(((kind, source) for kind, source in kinds if source), None)
        if reference is None:
            yield each
        elif (text := sources.of(*reference).get(reference[1].get("key", ""))) is not None:
            yield from _resolved([(each["name"], text)])


async def _sources(client: Client, namespace: str, containers: Sequence[Object]) -> _Sources:
    """Look up what the containers refer to."""
    wanted: dict[tuple[str, str], None] = {}
    for container in containers:
        for each in container.get("envFrom") or ():
            wanted["configmaps", (each.get("configMapRef") or {}).get("name", "")] = None
            wanted["secrets", (each.get("secretRef") or {}).get("name", "")] = None
        for each in container.get("env") or ():
            source = each.get("valueFrom") or {}
            wanted["configmaps", (source.get("configMapKeyRef") or {}).get("name", "")] = None
            wanted["secrets", (source.get("secretKeyRef") or {}).get("name", "")] = None
    texts = {}
    for kind, name in wanted:
        item = await client.find(client.resource("", "v1", kind), namespace, name) if name else None
        if item is not None:
            data = item.load().get("data") or {}
            texts[kind, name] = data if kind == "configmaps" else {key: _decoded(each) for key, each in data.items()}
    return _Sources(texts)


def _decoded(text: str) -> str:
    return b64decode(text).decode("utf-8", "replace")


async def _node_limits(client: Client, spec: Object) -> Mapping[str, str]:
    """Return the limits of a container without its own: what its node has for pods."""
    item = await client.find(client.resource("", "v1", "nodes"), "", spec.get("nodeName") or "")
    found = {} if item is None else (item.load().get("status") or {}).get("allocatable") or {}
    return {name: found[name] for name in ("cpu", "memory", "ephemeral-storage") if name in found}


async def _service_variables(client: Client, pod: Object) -> Sequence[tuple[str, str]]:
    """Return the variables of the Services that were there when the pod started."""
    services, namespace = client.resource("", "v1", "services"), pod["metadata"]["namespace"]
    started = (pod.get("status") or {}).get("startTime") or ""
    found: list[tuple[str, str]] = []
    master = await client.find(services, *_MASTER)
    if master is not None:
        found += _variables_of(master.load())
    if pod["spec"].get("enableServiceLinks", True):
        for item in (await client.list(services, namespace)).items[:MOST_SERVICES]:
            service = item.load()
            if service["metadata"]["creationTimestamp"] <= started and (namespace, item.name) != _MASTER:
                found += _variables_of(service)
    return found


def _variables_of(service: Object) -> Iterator[tuple[str, str]]:
    spec, address = service["spec"], service["spec"].get("clusterIP")
    ports = spec.get("ports") or ()
    if address in _HEADLESS or not ports:
        return
    name = _upper(service["metadata"]["name"])
    yield f"{name}_SERVICE_HOST", address
    yield f"{name}_SERVICE_PORT", str(ports[0]["port"])
    for port in ports:
        if port.get("name"):
            yield f"{name}_SERVICE_PORT_{_upper(port['name'])}", str(port["port"])
    host = f"[{address}]" if ":" in address else address
    for number, port in enumerate(ports):
        protocol = port.get("protocol") or "TCP"
        link = f"{protocol.lower()}://{host}:{port['port']}"
        if not number:
            yield f"{name}_PORT", link
        prefix = f"{name}_PORT_{port['port']}_{protocol}"
        yield prefix, link
        yield f"{prefix}_PROTO", protocol.lower()
        yield f"{prefix}_PORT", str(port["port"])
        yield f"{prefix}_ADDR", address


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")
