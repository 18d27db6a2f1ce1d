"""Profiles that a policy's annotations allow, and the default one (reference PLUG-107)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.seccomp import DEFAULT, OLD_DEFAULT

ANY: Final = "*"


class Profiles(msgspec.Struct, frozen=True, kw_only=True):
    """Profiles of one kind: `allowed` is None without an annotation, `told` is its text.

    `default` is empty if not set.
    """

    default: str = ""
    allowed: frozenset[str] | None = None
    told: str = ""


def profiles(annotations: Mapping[str, str], prefix: str, naming: Naming) -> Profiles:
    """Read the profiles from the annotations of a policy whose names begin with `prefix`, in neutral names."""
    told = annotations.get(naming.translate(f"{prefix}allowedProfileNames"))
    allowed = None if told is None else frozenset(told.split(","))
    default = annotations.get(naming.translate(f"{prefix}defaultProfileName"), "")
    return Profiles(default=default, allowed=allowed, told=told or "")


def with_both_names(found: Profiles) -> Profiles:
    """Return the profiles with both names of the runtime's default allowed if one of them is."""
    same = frozenset((DEFAULT, OLD_DEFAULT))
    if found.allowed is None or found.allowed.isdisjoint(same):
        return found
    return msgspec.structs.replace(found, allowed=found.allowed | same)
