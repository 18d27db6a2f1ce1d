"""References to objects of the same namespace, by kind and name."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.values.causes import invalid, required
from orchtw.values.names import dns_subdomain, path_segment
from orchtw.wire.objects import Object


def check_reference(reference: Object, path: str) -> list[Cause]:
    """Return the causes that reject apiGroup, kind and name of the reference at `path` (reference KIND-34)."""
    group = reference.get("apiGroup")
    causes = [] if group is None else [invalid(f"{path}apiGroup", group, text) for text in dns_subdomain(group)]
    for key in ("kind", "name"):
        if value := reference.get(key):
            causes += [invalid(path + key, value, text) for text in path_segment(value)]
        else:
            causes.append(required(path + key, f"{key} is required"))
    return causes
