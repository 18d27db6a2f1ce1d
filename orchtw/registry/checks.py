"""Rules of messages that no declaration can express, wherever a message occurs: in a pod, a template, a list.

What holds for a kind as a whole is in its record (`Traits.validate`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from orchtw.config.generic import GenericOptions
from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.admissionregistration import hooks
from orchtw.registry.groups.core import (
    claim_validation,
    containers,
    persistent_sources,
    pod_annotations,
    pod_containers,
    pod_security_context,
    pod_specs,
    privileges,
    scheduling_terms,
    volume_files,
    volume_sources,
)
from orchtw.registry.groups.flowcontrol import flow_schemas, priority_levels
from orchtw.registry.groups.meta import conditions, selectors
from orchtw.registry.groups.networking import ingress_classes, network_policies
from orchtw.schema.validation.validators import Check, Consequence
from orchtw.wire.objects import Object

_PARTS: tuple[Callable[[Naming], Mapping[str, Check]], ...] = (
    conditions.checks,
    selectors.checks,
    hooks.checks,
    flow_schemas.checks,
    priority_levels.checks,
    ingress_classes.checks,
    network_policies.checks,
    volume_sources.checks,
    volume_files.checks,
    pod_annotations.checks,
    pod_security_context.checks,
    pod_specs.checks,
    persistent_sources.checks,
    claim_validation.checks,
)
_GATED: tuple[Callable[[Naming, Mapping[str, bool]], Mapping[str, Check]], ...] = (
    containers.checks,
    pod_containers.checks,
    scheduling_terms.checks,
)


def checks(
    naming: Naming, *, allow_privileged: bool = True, gates: Mapping[str, bool] | None = None
) -> Mapping[str, Check]:
    """Return all checks by the full name of the message, for `Codecs`; `naming` is that of the objects.

    `gates` are the states of the feature gates; None: their defaults. `allow_privileged`: pods may have all rights
    on their node (reference KIND-32).
    """
    found: dict[str, list[Check]] = {}
    states = GenericOptions().gates if gates is None else gates
    for message, check in (pair for gated in _GATED for pair in gated(naming, states).items()):
        found.setdefault(message, []).append(check)
    for part in _PARTS if allow_privileged else (*_PARTS, privileges.checks):
        for message, check in part(naming).items():
            found.setdefault(message, []).append(check)
    return MappingProxyType({message: _combined(parts) for message, parts in found.items()})


def consequences() -> Mapping[str, Consequence]:
    """Return the consequences of broken rules by the full name of the message, for `Codecs`."""
    return MappingProxyType(dict(pod_containers.CONSEQUENCES))


def _combined(parts: Sequence[Check]) -> Check:
    """Return one check that adds up the causes of several."""
    if len(parts) == 1:
        return parts[0]

    def check(new: Object, old: Object | None) -> list[Cause]:
        causes: list[Cause] = []
        for part in parts:
            causes += part(new, old)
        return causes

    return check
