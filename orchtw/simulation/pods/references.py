"""Secrets, ConfigMaps and paths in volumes that a pod needs: which of them are not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from orchtw.client.interface import Client
from orchtw.simulation.pods.annotations import behaviour
from orchtw.simulation.pods.plans import roles
from orchtw.simulation.pods.pod_run import NOTHING_MISSING, Missing
from orchtw.simulation.pods.sub_paths import bad_sub_path
from orchtw.wire.objects import Object


class Reference(msgspec.Struct, frozen=True):
    """A Secret or ConfigMap, or a key in it, that a volume or a container needs."""

    plural: str
    name: str
    key: str = ""


async def missing(client: Client, pod: Object, always_there: str) -> Missing:
    """Return what a pod refers to and what is not there; the ConfigMap `always_there` counts as present.

    A pod whose annotation ignores what is missing (SIM-22) lacks nothing.
    """
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    if behaviour(pod, spec["containers"][0]["name"])[0].ignore_missing:
        return NOTHING_MISSING
    messages: dict[Reference, str] = {}

    async def message(wanted: Reference) -> str:
        if wanted.name == always_there:
            return ""
        if wanted not in messages:
            messages[wanted] = await _message(client, namespace, wanted)
        return messages[wanted]

    containers: dict[str, str] = {}
    for _, container in roles(spec):
        if why := bad_sub_path(pod, container):
            containers[container["name"]] = why
        for wanted in _of_container(container):
            if why := await message(wanted):
                containers.setdefault(container["name"], why)
    volumes = ""
    for volume, wanted in _of_volumes(spec):
        if not volumes and (why := await message(wanted)):
            volumes = f'MountVolume.SetUp failed for volume "{volume}" : {why}'
    return Missing(volumes=volumes, containers=containers) if volumes or containers else NOTHING_MISSING


async def _message(client: Client, namespace: str, wanted: Reference) -> str:
    """Return why a reference cannot be followed; empty if it can."""
    item = await client.find(client.resource("", "v1", wanted.plural), namespace, wanted.name)
    kind = "Secret" if wanted.plural == "secrets" else "ConfigMap"
    if item is None:
        return f'{kind.lower()} "{wanted.name}" not found'
    if not wanted.key:
        return ""
    obj = item.load()
    if wanted.key in (obj.get("data") or {}) or wanted.key in (obj.get("binaryData") or {}):
        return ""
    return f"couldn't find key {wanted.key} in {kind} {namespace}/{wanted.name}"


def _of_container(container: Object) -> Iterator[Reference]:
    for each in container.get("env") or ():
        source = each.get("valueFrom") or {}
        yield from _reference("secrets", source.get("secretKeyRef"), keyed=True)
        yield from _reference("configmaps", source.get("configMapKeyRef"), keyed=True)
    for each in container.get("envFrom") or ():
        yield from _reference("secrets", each.get("secretRef"))
        yield from _reference("configmaps", each.get("configMapRef"))


def _of_volumes(spec: Object) -> Iterator[tuple[str, Reference]]:
    for volume in spec.get("volumes") or ():
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            secret = source.get("secret")
            if secret is not None:
                secret = {"name": secret.get("secretName") or secret.get("name"), "optional": secret.get("optional")}
            for found in (*_reference("secrets", secret), *_reference("configmaps", source.get("configMap"))):
                yield volume["name"], found


def _reference(plural: str, source: Mapping[str, object] | None, *, keyed: bool = False) -> Iterator[Reference]:
    if source is not None and source.get("name") and not source.get("optional"):
        yield Reference(plural, str(source["name"]), str(source.get("key", "")) if keyed else "")
