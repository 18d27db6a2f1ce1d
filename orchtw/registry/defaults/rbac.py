"""The rbac.authorization group."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.places import put


def fill_role_binding(binding: Object) -> None:
    """Users and groups are of the binding's own API group."""
    for subject in binding.get("subjects") or ():
        if "apiGroup" not in subject and subject["kind"] in ("User", "Group"):
            put(subject, "apiGroup", binding["apiVersion"].partition("/")[0], ("apiGroup", "name", "namespace"))
