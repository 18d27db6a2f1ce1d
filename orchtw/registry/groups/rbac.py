"""Kinds of group rbac: roles and bindings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.emission_order import put
from orchtw.registry.kind import KindRecord
from orchtw.rules.selectors import validate_selector_object
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import invalid, not_supported, required
from orchtw.values.go_literals import SELECTOR, as_text, shown, struct
from orchtw.values.names import PATH_SEGMENT_NAME, dns_subdomain, path_segment
from orchtw.wire.objects import Object

_GROUP: Final = "rbac.authorization.orch.io"
_REFERENCE: Final = struct(
    "rbac.RoleRef", APIGroup=("apiGroup", as_text), Kind=("kind", as_text), Name=("name", as_text)
)
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def set_role_binding_defaults(binding: Object) -> None:
    """Fill in the binding's own API group for users and groups."""
    for subject in binding.get("subjects") or ():
        if "apiGroup" not in subject and subject["kind"] in ("User", "Group"):
            put(subject, "apiGroup", binding["apiVersion"].partition("/")[0], ("apiGroup", "name", "namespace"))


def validate_role(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that rules of a namespace are for resources."""
    return _rule_causes(new, namespaced=True)


def validate_cluster_role(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that rules are for resources or for paths, and that an aggregation has selectors."""
    causes = _rule_causes(new, namespaced=False)
    aggregation = new.get("aggregationRule")
    if aggregation is None:
        return causes
    path, selectors = "aggregationRule.clusterRoleSelectors", aggregation.get("clusterRoleSelectors")
    if not selectors:
        return [*causes, required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
    return causes + [
        invalid(f"{path}[{index}]", shown(SELECTOR, selector), "invalid label selector.")
        for index, selector in enumerate(selectors[:MAX_CAUSES])
        if validate_selector_object(selector, "")
    ]


def _rule_causes(role: Object, *, namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    for index, rule in enumerate(role.get("rules") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += _policy_causes(rule, f"rules[{index}]", namespaced)
    return causes


def _policy_causes(rule: Object, path: str, namespaced: bool) -> list[Cause]:
    causes = []
    if not rule.get("verbs"):
        causes.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    if paths := rule.get("nonResourceURLs"):
        field = f"{path}.nonResourceURLs"
        if namespaced:
            causes.append(invalid(field, paths, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            causes.append(invalid(field, paths, text))
        return causes
    if not rule.get("apiGroups"):
        causes.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        causes.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return causes


def validate_role_binding(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a binding in a namespace, of a Role or a ClusterRole that never changes."""
    return _binding_causes(new, old, naming, ("Role", "ClusterRole"), namespaced=True)


def validate_cluster_role_binding(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a binding of the cluster, of a ClusterRole that never changes."""
    return _binding_causes(new, old, naming, ("ClusterRole",), namespaced=False)


def _binding_causes(
    new: Object, old: Object | None, naming: Naming, kinds: Sequence[str], *, namespaced: bool
) -> list[Cause]:
    role, group = new.get("roleRef") or {}, naming.group(_GROUP)
    causes = _role_causes(role, kinds, group)
    if old is not None and old.get("roleRef") != new.get("roleRef"):
        causes.append(invalid("roleRef", shown(_REFERENCE, role), "cannot change roleRef"))
    for index, subject in enumerate(new.get("subjects") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += _subject_causes(subject, f"subjects[{index}]", group, namespaced)
    return causes


def _role_causes(role: Object, kinds: Sequence[str], group: str) -> list[Cause]:
    causes = []
    if role.get("apiGroup", "") != group:
        causes.append(not_supported("roleRef.apiGroup", role.get("apiGroup", ""), [group]))
    if role.get("kind") not in kinds:
        causes.append(not_supported("roleRef.kind", role.get("kind", ""), kinds))
    if name := role.get("name"):
        return causes + [invalid("roleRef.name", name, text) for text in path_segment(name)]
    return [*causes, required("roleRef.name")]


def _subject_causes(subject: Object, path: str, group: str, namespaced: bool) -> list[Cause]:
    kind, name, given = subject.get("kind", ""), subject.get("name"), subject.get("apiGroup", "")
    causes = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        causes += [invalid(f"{path}.name", name, text) for text in dns_subdomain(name or "a")]
        if given:
            causes.append(not_supported(f"{path}.apiGroup", given, [""]))
        if not (namespaced or subject.get("namespace")):
            causes.append(required(f"{path}.namespace"))
    elif kind not in _SUBJECTS:
        causes.append(not_supported(f"{path}.kind", kind, _SUBJECTS))
    elif given != group:
        causes.append(not_supported(f"{path}.apiGroup", given, [group]))
    return causes


ROLE = KindRecord(
    group=_GROUP, kind="Role", create_on_update=True, name_form=PATH_SEGMENT_NAME, validate=validate_role
)
CLUSTER_ROLE = attrs.evolve(ROLE, kind="ClusterRole", validate=validate_cluster_role)
ROLE_BINDING = KindRecord(
    group=_GROUP,
    kind="RoleBinding",
    create_on_update=True,
    name_form=PATH_SEGMENT_NAME,
    set_defaults=set_role_binding_defaults,
    validate=validate_role_binding,
    cells=cells_cluster.role_binding,
)
CLUSTER_ROLE_BINDING = attrs.evolve(ROLE_BINDING, kind="ClusterRoleBinding", validate=validate_cluster_role_binding)

KINDS = (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING)
