"""Rules across the containers of a pod and the rest of its spec (reference KIND-40, KIND-42)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.container_lifecycles import lifecycle_causes
from orchtw.registry.groups.core.container_mounts import reference_causes
from orchtw.registry.groups.core.containers import UNTRIMMED
from orchtw.registry.groups.core.newer_pods import claim_use_causes, used_claims
from orchtw.registry.groups.core.pod_annotations import containers_of
from orchtw.registry.groups.core.pod_security_context import NOT_WINDOWS, ONLY_WINDOWS
from orchtw.registry.groups.core.resource_requirements import are_plain, huge_page_causes
from orchtw.schema.validation.problems import within
from orchtw.schema.validation.validators import Check, Consequence
from orchtw.values.causes import duplicate, forbidden, invalid, not_found, not_supported
from orchtw.wire.objects import Object

_CORE = "orch.io.api.core.v1."
_VOLUME: Final = re.compile(r"volumes\[(\d+)\]", re.ASCII)
_NOTHING: Final[Mapping[str, Object]] = {}
_ONLY_SIDECARS: Final = "may not be set for init containers without restartPolicy=Always"
_ONLY_INITIAL: Final = "may not be set for non-init containers"
_NOT_INITIAL: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_NOT_ON_WINDOWS: Final = (
    *("seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def _containers_check(gates: Mapping[str, bool]) -> Check:
    """Return the check of a pod's containers; sidecars change a text."""
    initial_causes = _sidecar_causes if gates["SidecarContainers"] else _initial_causes
    return partial(check_containers, initial_causes=initial_causes, only_sidecars=not gates["ContainerRestartRules"])


def check_containers(
    new: Object,
    old: Object | None,
    *,
    initial_causes: Callable[[Sequence[Object]], list[Cause]],
    only_sidecars: bool = False,
) -> list[Cause]:
    """Check the containers; rare fields are checked only where they are set.

    `only_sidecars`: no other containers have a restart policy.
    """
    initial, containers = new.get("initContainers"), new.get("containers") or ()
    ephemeral = new.get("ephemeralContainers")
    every = [*(initial or ()), *containers, *(ephemeral or ())] if initial or ephemeral else containers
    causes: list[Cause] = []
    if len({container.get("name") for container in every}) < len(every):
        causes += _name_causes(new)
    if initial:
        causes += initial_causes(initial)
    if ephemeral:
        causes += _target_causes(ephemeral, [*(initial or ()), *containers])
    volumes = {volume.get("name", ""): volume for volume in new.get("volumes") or ()}
    if not all(_is_plain(container, volumes) for container in every):
        causes += _reference_causes(new, volumes) + _port_causes(new) + _huge_page_causes(new, old)
    if any("claims" in (container.get("resources") or _NOTHING) for container in every):
        causes += _claim_causes(new)
    if any("lifecycle" in container for container in every):
        causes += lifecycle_causes(new, old)
    if only_sidecars and any("restartPolicy" in container for container in every):
        causes += _policy_causes(initial or (), containers)
    if "os" in new or (new.get("securityContext") or {}).get("windowsOptions"):
        causes += _system_causes(new)
    return causes


def _is_plain(container: Object, volumes: Mapping[str, Object]) -> bool:
    """Report whether a container only mounts volumes of the pod, without host ports and special resources."""
    for mount in container.get("volumeMounts") or ():
        if mount.get("name") not in volumes:
            return False
    for port in container.get("ports") or ():
        if "hostPort" in port:
            return False
    resources = container.get("resources")
    return "volumeDevices" not in container and (not resources or are_plain(resources))


def _name_causes(spec: Object) -> list[Cause]:
    """Return the causes for names that several containers of the pod have."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(key) or ()):
            name = container.get("name")
            if name and name in seen:
                causes.append(duplicate(f"{key}[{index}].name", name))
            if len(causes) > MAX_CAUSES:
                return causes
            seen.add(name)
    return causes


def _initial_causes(containers: Sequence[Object]) -> list[Cause]:
    """Check that init containers have neither probes nor lifecycle handlers."""
    causes: list[Cause] = []
    for index, container in enumerate(containers):
        for key in _NOT_INITIAL:
            if container.get(key) is not None:
                place = f"initContainers[{index}].{key}"
                causes.append(invalid(place, container[key], "must not be set for init containers"))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _sidecar_causes(containers: Sequence[Object]) -> list[Cause]:
    """Check that init containers other than sidecars have neither probes nor lifecycle handlers (KIND-97)."""
    causes: list[Cause] = []
    for index, container in enumerate(containers):
        if container.get("restartPolicy") == "Always":
            continue
        given = (key for key in _NOT_INITIAL if container.get(key) is not None)
        causes += [forbidden(f"initContainers[{index}].{key}", _ONLY_SIDECARS) for key in given]
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _policy_causes(initial: Sequence[Object], containers: Sequence[Object]) -> list[Cause]:
    """Check that only sidecars have a restart policy."""
    policies = ((f"initContainers[{index}]", each.get("restartPolicy")) for index, each in enumerate(initial))
    causes = [
        not_supported(f"{place}.restartPolicy", policy, ("Always",))
        for place, policy in policies
        if policy not in (None, "Always")
    ]
    given = (index for index, each in enumerate(containers) if each.get("restartPolicy") is not None)
    causes += [forbidden(f"containers[{index}].restartPolicy", _ONLY_INITIAL) for index in given]
    return causes[: MAX_CAUSES + 1]


def _claim_causes(spec: Object) -> list[Cause]:
    """Check that containers use claims of the pod only."""
    claims = used_claims(spec)
    causes: list[Cause] = []
    for place, container in containers_of(spec):
        causes += within(place, claim_use_causes(container, claims))
    return causes[: MAX_CAUSES + 1]


def _target_causes(ephemeral: Sequence[Object], others: Sequence[Object]) -> list[Cause]:
    """Check that ephemeral containers target one that is not ephemeral."""
    names = {container.get("name") for container in others}
    causes: list[Cause] = []
    for index, container in enumerate(ephemeral):
        target = container.get("targetContainerName")
        if target and target not in names:
            causes.append(not_found(f"ephemeralContainers[{index}].targetContainerName", target))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _reference_causes(spec: Object, volumes: Mapping[str, Object]) -> list[Cause]:
    causes: list[Cause] = []
    for place, container in containers_of(spec):
        causes += within(place, reference_causes(container, volumes))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _port_causes(spec: Object) -> list[Cause]:
    """Return the causes for conflicting host ports of containers that run together; on the host's network ports
    equal.
    """
    causes: list[Cause] = []
    for index, container in enumerate(spec.get("initContainers") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += within(f"initContainers[{index}]", _host_port_causes(container, set()))
    taken: set[tuple[str, str, int]] = set()
    for index, container in enumerate(spec.get("containers") or ()):
        if len(causes) > MAX_CAUSES:
            break
        found = _host_port_causes(container, taken)
        if spec.get("hostNetwork"):
            found += _network_causes(container)
        causes += within(f"containers[{index}]", found)
    return causes


def _host_port_causes(container: Object, taken: set[tuple[str, str, int]]) -> list[Cause]:
    causes: list[Cause] = []
    for index, port in enumerate(container.get("ports") or ()):
        if not (number := port.get("hostPort")):
            continue
        key = (port.get("protocol", ""), port.get("hostIP", ""), number)
        if key in taken:
            causes.append(duplicate(f"ports[{index}].hostPort", "/".join(map(str, key))))
            if len(causes) > MAX_CAUSES:
                break
        taken.add(key)
    return causes


def _network_causes(container: Object) -> list[Cause]:
    causes: list[Cause] = []
    for index, port in enumerate(container.get("ports") or ()):
        number = port.get("containerPort", 0)
        if port.get("hostPort", 0) != number:
            text = "must match `hostPort` when `hostNetwork` is true"
            causes.append(invalid(f"ports[{index}].containerPort", number, text))
            if len(causes) > MAX_CAUSES:
                break
    return causes


def _huge_page_causes(new: Object, old: Object | None) -> list[Cause]:
    """Return the causes for huge pages requested in part, unless the stored spec does so already."""
    if old is not None and _huge_page_causes(old, None):
        return []
    causes: list[Cause] = []
    for place, container in containers_of(new):
        if resources := container.get("resources"):
            causes += within(place, huge_page_causes(resources))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _system_causes(spec: Object) -> list[Cause]:
    """Return the causes for settings that the pod's operating system excludes, or that contradict the pod's."""
    name = (spec.get("os") or {}).get("name")
    pod_windows = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    causes: list[Cause] = []
    for place, container in containers_of(spec):
        security = container.get("securityContext") or {}
        place += ".securityContext"
        if name == "linux" and security.get("windowsOptions") is not None:
            causes.append(forbidden(f"{place}.windowsOptions", ONLY_WINDOWS))
        if name == "windows":
            unknown = [key for key in _NOT_ON_WINDOWS if security.get(key) is not None]
            causes += [forbidden(f"{place}.{key}", NOT_WINDOWS) for key in unknown]
        shared = pod_windows.get("hostProcess")
        own = (security.get("windowsOptions") or {}).get("hostProcess")
        if shared is not None and own is not None and own != shared:
            text = f"pod hostProcess value must be identical if both are specified, was {str(shared).lower()}"
            causes.append(invalid(f"{place}.windowsOptions.hostProcess", own, text))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def image_causes(spec: Object) -> list[Cause]:
    """Return the causes for images that space around them makes impossible to pull; templates may have them."""
    causes: list[Cause] = []
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key) or ()):
            image = container.get("image") or ""
            if image.strip() != image:
                causes.append(invalid(f"spec.{key}[{index}].image", image, UNTRIMMED))
                if len(causes) > MAX_CAUSES:
                    return causes
    return causes


def check_template(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a template has no ephemeral containers, which are for running pods."""
    if not (new.get("spec") or {}).get("ephemeralContainers"):
        return []
    return [forbidden("spec.ephemeralContainers", "ephemeral containers not allowed in pod template")]


def unusable_volumes(spec: Object, causes: list[Cause]) -> list[Cause]:
    """Return the causes for mounts of invalid volumes: to their containers these do not exist."""
    wrong = {int(found[1]) for cause in causes if (found := _VOLUME.match(cause.field))}
    volumes = [volume.get("name", "") for volume in spec.get("volumes") or ()]
    broken = {name for index, name in enumerate(volumes) if index in wrong}
    broken -= {name for index, name in enumerate(volumes) if index not in wrong}
    found_too: list[Cause] = []
    for place, container in containers_of(spec) if broken else ():
        for key in ("volumeMounts", "volumeDevices"):
            for index, mount in enumerate(container.get(key) or ()):
                if (name := mount.get("name", "")) in broken:
                    found_too.append(not_found(f"{place}.{key}[{index}].name", name))
                    if len(found_too) > MAX_CAUSES:
                        return found_too
    return found_too


CONSEQUENCES: Final[Mapping[str, Consequence]] = {_CORE + "PodSpec": unusable_volumes}
"""Consequences of broken rules by message name."""


def checks(naming: Naming, gates: Mapping[str, bool]) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {_CORE + "PodSpec": _containers_check(gates), _CORE + "PodTemplateSpec": check_template}
