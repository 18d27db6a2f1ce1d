"""Profiles that annotations of a policy name: which pods may have, and which they get (reference PLUG-107)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from orchtw.naming.names import Naming
from orchtw.registry.groups.core.seccomp import DEFAULT, OLD_DEFAULT

ANY: Final = "*"


@attrs.frozen(slots=True, kw_only=True)
class Profiles:
    """`allowed` None: nothing is said; `told` is the annotation. `default` is empty if there is none."""

    default: str = ""
    allowed: frozenset[str] | None = None
    told: str = ""


def profiles(annotations: Mapping[str, str], prefix: str, naming: Naming) -> Profiles:
    """Read the profiles from a policy's annotations with a prefix, in neutral names."""
    told = annotations.get(naming.translate(f"{prefix}allowedProfileNames"))
    allowed = None if told is None else frozenset(told.split(","))
    default = annotations.get(naming.translate(f"{prefix}defaultProfileName"), "")
    return Profiles(default=default, allowed=allowed, told=told or "")


def with_both_names(found: Profiles) -> Profiles:
    """The same, where who allows the runtime's own profile by one of its two names allows both."""
    same = frozenset((DEFAULT, OLD_DEFAULT))
    if found.allowed is None or found.allowed.isdisjoint(same):
        return found
    return attrs.evolve(found, allowed=found.allowed | same)
