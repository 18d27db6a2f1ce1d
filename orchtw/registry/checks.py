"""Rules of messages that no declaration can say, for wherever a message stands: in a pod, in a template, in a list.

What holds for a kind as a whole is in its record (`Traits.validate`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orchtw.naming import Naming
from orchtw.registry.groups.admissionregistration import hooks
from orchtw.registry.groups.flowcontrol import flow_schemas, priority_levels
from orchtw.registry.groups.meta import selectors
from orchtw.registry.groups.networking import ingress_classes, network_policies
from orchtw.schema.validation.validators import Check

_PARTS: tuple[Callable[[Naming], Mapping[str, Check]], ...] = (
    selectors.checks,
    hooks.checks,
    flow_schemas.checks,
    priority_levels.checks,
    ingress_classes.checks,
    network_policies.checks,
)


def checks(naming: Naming) -> Mapping[str, Check]:
    """All of them by the full name of the message, for `Codecs`; `naming` is that of the objects."""
    made: dict[str, Check] = {}
    for part in _PARTS:
        made.update(part(naming))
    return MappingProxyType(made)
