"""Groups whose kinds have one such default: networking, rbac, node, apiextensions."""

from __future__ import annotations

from typing import Any

from orchtw.registry.defaults.places import put
from orchtw.registry.defaults.quantities import round_up

Object = dict[str, Any]

_NAMES_TAIL = ("singular", "shortNames", "kind", "listKind", "categories")


def fill_network_policy(policy: Object) -> None:
    """A policy is about what comes in, and about what goes out where it has rules for that."""
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def fill_role_binding(binding: Object) -> None:
    """Users and groups are of the binding's own API group."""
    for subject in binding.get("subjects") or ():
        if "apiGroup" not in subject and subject["kind"] in ("User", "Group"):
            put(subject, "apiGroup", binding["apiVersion"].partition("/")[0], ("apiGroup", "name", "namespace"))


def fill_runtime_class(runtime_class: Object) -> None:
    """Amounts."""
    round_up(runtime_class.get("overhead"), "podFixed")


def fill_definition(definition: Object) -> None:
    """A custom resource's names that follow from its kind, and the version that it is stored in."""
    names = definition["spec"]["names"]
    kind = names["kind"]
    if kind:
        if "singular" not in names:
            put(names, "singular", kind.lower(), _NAMES_TAIL)
        if "listKind" not in names:
            put(names, "listKind", f"{kind}List", _NAMES_TAIL)
    fill_stored_versions(definition)


def fill_stored_versions(definition: Object) -> None:
    """status.storedVersions of a definition that never was stored."""
    if not definition["status"]["storedVersions"]:
        storing = [each["name"] for each in definition["spec"]["versions"] or () if each["storage"]]
        if storing:
            definition["status"]["storedVersions"] = storing[:1]
