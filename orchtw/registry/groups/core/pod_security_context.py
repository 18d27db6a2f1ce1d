"""Security of a pod as a whole: kernel parameters, operating systems, processes of the host (reference KIND-37)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import duplicate, forbidden, invalid, not_supported, required
from orchtw.values.go_literals import as_text, shown, struct
from orchtw.wire.objects import Object

_SHOWN_SYSTEM = struct("core.PodOS", Name=("name", as_text))

_CORE = "orch.io.api.core.v1."
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_LONGEST_SYSCTL: Final = 253
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SEGMENT}\.)*{_SEGMENT}"
_SYSCTL_TEXT = f"must have at most {_LONGEST_SYSCTL} characters and match regex {_SYSCTL}"
_with_dots = re.compile(_SYSCTL).fullmatch
_with_slashes = re.compile(rf"({_SEGMENT}[./])*{_SEGMENT}").fullmatch
ONLY_WINDOWS: Final = "windows options cannot be set for a linux pod"
NOT_WINDOWS: Final = "cannot be set for a windows pod"
_SYSTEMS: Final = ("linux", "windows")
_NOT_ON_WINDOWS: Final = (
    *("seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser", "runAsGroup"),
    "supplementalGroups",
)


def check_security_context(new: Object, old: Object | None) -> list[Cause]:
    """Validate that kernel parameters have valid names, once each; slashes are allowed if one is stored."""
    sysctls = new.get("sysctls")
    if not sysctls:
        return []
    stored = () if old is None else old.get("sysctls") or ()
    tolerant = any(not _is_sysctl(each.get("name", ""), slashes=False) for each in stored)
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        if len(causes) > MAX_CAUSES:
            break
        place, name = f"sysctls[{index}].name", sysctl.get("name")
        if not name:
            causes.append(required(place))
        elif not _is_sysctl(name, slashes=tolerant):
            causes.append(invalid(place, name, _SYSCTL_TEXT))
        elif name in seen:
            causes.append(duplicate(place, name))
        else:
            seen.add(name)
    return causes


def _is_sysctl(name: str, *, slashes: bool) -> bool:
    return len(name) <= _LONGEST_SYSCTL and (_with_slashes if slashes else _with_dots)(name) is not None


def host_causes(spec: Object) -> list[Cause]:
    """Return the causes for settings that contradict the operating system, or share processes in two ways."""
    causes = []
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        causes.append(invalid("securityContext.shareProcessNamespace", True, text))
    if (system := spec.get("os")) is not None:
        causes += _system_causes(spec, system)
    return causes


def _system_causes(spec: Object, system: Object) -> list[Cause]:
    name, security = system.get("name"), spec.get("securityContext") or {}
    if not name:
        return [required("os.name", "cannot be empty")]
    if name == "linux":
        windows = security.get("windowsOptions") is not None
        return [forbidden("securityContext.windowsOptions", ONLY_WINDOWS)] if windows else []
    if name != "windows":
        return [not_supported("os", shown(_SHOWN_SYSTEM, system), _SYSTEMS)]
    places = [key for key in ("hostPID", "hostIPC") if spec.get(key)]
    if spec.get("shareProcessNamespace") is not None:
        places.append("shareProcessNamespace")
    places += [f"securityContext.{key}" for key in _NOT_ON_WINDOWS if security.get(key) is not None]
    return [forbidden(place, NOT_WINDOWS) for place in places]


def host_process_causes(spec: Object) -> list[Cause]:
    """Return the causes unless all containers or none are processes of the host, which then needs its network."""
    found = are_host_processes(spec)
    if True not in found:
        return []
    causes = []
    if not all(found):
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        causes.append(invalid("", "", text))
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        causes.append(invalid("hostNetwork", False, text))
    return causes


def are_host_processes(spec: Object) -> list[bool | None]:
    """Return for each container whether it is a process of the host; None: it is not set."""
    by_default = _host_process(spec)
    return [by_default if own is None else own for own in _of_containers(spec)]


def _of_containers(spec: Object) -> Iterator[bool | None]:
    for key in _LISTS:
        for container in spec.get(key) or ():
            yield _host_process(container)


def _host_process(holder: Object) -> bool | None:
    security = holder.get("securityContext")
    windows = security.get("windowsOptions") if security else None
    return windows.get("hostProcess") if windows else None


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {_CORE + "PodSecurityContext": check_security_context}
