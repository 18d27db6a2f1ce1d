"""Secrets of pods, and the check that the service account may use them (reference PLUG-46)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchtw.registry.listers.service_accounts import ServiceAccount
from orchtw.wire.objects import Object

_AT_START: Final[Mapping[str, str]] = {"initContainers": "init container", "containers": "container"}
_LATER: Final[Mapping[str, str]] = {"ephemeralContainers": "ephemeral container"}
_IN_VOLUMES: Final = {
    **dict.fromkeys(("azureFile", "secret"), "secretName"),
    **dict.fromkeys(("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"), "secretRef"),
    "csi": "nodePublishSecretRef",
}


def check_secrets(spec: Object, account: ServiceAccount) -> str:
    """Return why a new pod may not use one of its secrets, or an empty string."""
    because = _because(account)
    for volume in spec.get("volumes") or ():
        name = (volume.get("secret") or {}).get("secretName", "")
        if volume.get("secret") is not None and name not in account.secrets:
            return f'volume with secret.secretName="{name}" {because} secret'
    if why := _check_containers(spec, account, _AT_START):
        return why
    for index, each in enumerate(spec.get("imagePullSecrets") or ()):
        if (name := each.get("name", "")) not in account.pull_secrets:
            return f'imagePullSecrets[{index}].name="{name}" {because} imagePullSecret'
    return ""


def check_ephemeral(spec: Object, account: ServiceAccount) -> str:
    """Return why the ephemeral containers of a pod may not use one of their secrets, or an empty string."""
    return _check_containers(spec, account, _LATER)


def _check_containers(spec: Object, account: ServiceAccount, kinds: Mapping[str, str]) -> str:
    for key, what in kinds.items():
        for container in spec.get(key) or ():
            for where, name in _in_environment(container):
                if name not in account.secrets:
                    who = f"{what} {container['name']} with {where}"
                    return f'{who} referencing secret.secretName="{name}" {_because(account)} secret'
    return ""


def _because(account: ServiceAccount) -> str:
    return f"is not allowed because service account {account.name} does not reference that"


def secret_names(spec: Object) -> Iterator[str]:
    """Yield the names of the secrets in a pod's imagePullSecrets, container environments and volumes."""
    yield from (each.get("name", "") for each in spec.get("imagePullSecrets") or ())
    for key in (*_AT_START, *_LATER):
        for container in spec.get(key) or ():
            yield from (name for _, name in _in_environment(container))
    for volume in spec.get("volumes") or ():
        yield from _names_in(volume)


def _names_in(volume: Object) -> Iterator[str]:
    for kind, key in _IN_VOLUMES.items():
        found: Any = (volume.get(kind) or {}).get(key)
        if found:
            yield found if isinstance(found, str) else found.get("name", "")
    for source in (volume.get("projected") or {}).get("sources") or ():
        if source.get("secret"):
            yield source["secret"].get("name", "")


def _in_environment(container: Object) -> Iterator[tuple[str, str]]:
    """Yield each entry of a container's environment that refers to a secret, and the secret's name."""
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference:
            yield f"envVar {variable['name']}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get("secretRef"):
            yield "envFrom", source["secretRef"].get("name", "")
