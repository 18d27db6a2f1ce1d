"""Containers of every sort, in pods and in templates: validation across their fields (reference KIND-40, KIND-45)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core import newer_pods
from orchtw.registry.groups.core.container_mounts import mount_causes
from orchtw.registry.groups.core.environment import (
    FIELDS,
    FIELDS_WITH_HOST_IPS,
    import_causes,
    variable_causes,
)
from orchtw.registry.groups.core.resource_requirements import resource_causes
from orchtw.registry.groups.core.security_context import (
    check_seccomp_profile,
    check_security_context,
    check_windows_options,
)
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import forbidden, invalid, required
from orchtw.values.names import dns_label, http_header
from orchtw.wire.objects import Object

UNTRIMMED: Final = "must not have leading or trailing whitespace"
"""Message about text with space around it."""

_CORE = "orch.io.api.core.v1."
_POLICIES: Final = frozenset(("File", "FallbackToLogsOnError"))
_POLICY_TEXT: Final = "must be 'File' or 'FallbackToLogsOnError'"
_RUN_ONCE: Final = ("livenessProbe", "startupProbe")
_NOT_EPHEMERAL: Final = (
    *("ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
    *("resizePolicy", "restartPolicy", "restartPolicyRules"),
)
_NOT_EPHEMERAL_TEXT: Final = "cannot be set for an Ephemeral Container"


def _container_check(naming: Naming, gates: Mapping[str, bool]) -> Check:
    """Return the check of a container."""
    restarts = gates["ContainerRestartRules"]
    fields = FIELDS_WITH_HOST_IPS if gates["PodHostIPs"] else FIELDS

    def check_container(new: Object, old: Object | None) -> list[Cause]:
        """Validate a container: the common fields first, the rare ones only if present."""
        get = new.get
        causes: list[Cause] = []
        if get("terminationMessagePolicy") not in _POLICIES:
            causes += _policy_causes(new)
        if variables := get("env"):
            causes += variable_causes(variables, fields)
        if imports := get("envFrom"):
            causes += import_causes(imports)
        if resources := get("resources"):
            causes += resource_causes(resources, naming)
        if "volumeMounts" in new or "volumeDevices" in new:
            causes += mount_causes(new)
        if "livenessProbe" in new or "readinessProbe" in new or "startupProbe" in new:
            causes += _probe_causes(new)
        if "restartPolicy" in new or "restartPolicyRules" in new or "resizePolicy" in new:
            causes += newer_pods.container_causes(new, restarts=restarts)
        return causes

    return check_container


def _policy_causes(container: Object) -> list[Cause]:
    place, policy = "terminationMessagePolicy", container.get("terminationMessagePolicy")
    return [invalid(place, policy, _POLICY_TEXT) if policy else required(place, _POLICY_TEXT)]


def _probe_causes(container: Object) -> list[Cause]:
    """Return the causes for a success threshold other than 1 on probes that restart the container."""
    causes = []
    for key in _RUN_ONCE:
        probe = container.get(key)
        if probe and (threshold := probe.get("successThreshold", 1)) != 1:
            causes.append(invalid(f"{key}.successThreshold", threshold, "must be 1"))
    readiness = container.get("readinessProbe")
    if readiness and (grace := readiness.get("terminationGracePeriodSeconds")) is not None:
        text = "must not be set for readinessProbes"
        causes.append(invalid("readinessProbe.terminationGracePeriodSeconds", grace, text))
    return causes


def check_ephemeral_container(new: Object, old: Object | None) -> list[Cause]:
    """Validate an ephemeral container: name, image, and none of the fields for serving others."""
    name, image = new.get("name"), new.get("image") or ""
    if not name:
        return [required("", "ephemeralContainer requires a name")]
    causes = [invalid("name", name, text) for text in dns_label(name)]
    if image.strip() != image:
        causes.append(invalid("image", image, UNTRIMMED))
    causes += [forbidden(key, _NOT_EPHEMERAL_TEXT) for key in _NOT_EPHEMERAL if new.get(key)]
    for index, mount in enumerate(new.get("volumeMounts") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += [
            forbidden(f"volumeMounts[{index}].{key}", _NOT_EPHEMERAL_TEXT)
            for key in ("subPath", "subPathExpr")
            if mount.get(key)
        ]
    return causes


def check_http_get(new: Object, old: Object | None) -> list[Cause]:
    """Validate the names of headers; all causes are collected."""
    causes: list[Cause] = []
    for header in new.get("httpHeaders") or ():
        name = header.get("name", "")
        causes += [invalid("httpHeaders", name, text) for text in http_header(name)]
        if len(causes) > MAX_CAUSES:
            break
    return causes


def checks(naming: Naming, gates: Mapping[str, bool]) -> Mapping[str, Check]:
    """Return the checks by message name."""
    check_container = _container_check(naming, gates)
    return {
        _CORE + "Container": check_container,
        _CORE + "EphemeralContainerCommon": check_container,
        _CORE + "EphemeralContainer": check_ephemeral_container,
        _CORE + "HTTPGetAction": check_http_get,
        _CORE + "SecurityContext": check_security_context,
        _CORE + "AppArmorProfile": newer_pods.check_app_armor,
        _CORE + "SeccompProfile": check_seccomp_profile,
        _CORE + "WindowsSecurityContextOptions": check_windows_options,
    }
