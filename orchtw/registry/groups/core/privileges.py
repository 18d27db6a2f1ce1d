"""Settings of pods that are rejected without `--allow-privileged` (reference KIND-32)."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.pod_security_context import are_host_processes
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import forbidden
from orchtw.wire.objects import Object

_CORE = "orch.io.api.core.v1."


def check_privileged(new: Object, old: Object | None) -> list[Cause]:
    """Validate that no container is privileged."""
    return [forbidden("privileged", "disallowed by cluster policy")] if new.get("privileged") else []


def check_host_processes(new: Object, old: Object | None) -> list[Cause]:
    """Validate that no container is a process of a windows host."""
    if True not in are_host_processes(new):
        return []
    return [forbidden("", "hostProcess containers are disallowed by cluster policy")]


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {_CORE + "SecurityContext": check_privileged, _CORE + "PodSpec": check_host_processes}
