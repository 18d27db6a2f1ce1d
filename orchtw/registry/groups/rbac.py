"""The rbac.authorization group."""

from __future__ import annotations

import attrs

from orchtw.objects import Object
from orchtw.registry.emission_order import put
from orchtw.registry.kind import Kind
from orchtw.rules.names import PATH_SEGMENT_NAME
from orchtw.schema.tables import cells_cluster

_GROUP = "rbac.authorization.orch.io"


def set_role_binding_defaults(binding: Object) -> None:
    """Users and groups are of the binding's own API group."""
    for subject in binding.get("subjects") or ():
        if "apiGroup" not in subject and subject["kind"] in ("User", "Group"):
            put(subject, "apiGroup", binding["apiVersion"].partition("/")[0], ("apiGroup", "name", "namespace"))


ROLE = Kind(group=_GROUP, kind="Role", create_on_update=True, name_form=PATH_SEGMENT_NAME)
CLUSTER_ROLE = Kind(group=_GROUP, kind="ClusterRole", create_on_update=True, name_form=PATH_SEGMENT_NAME)
ROLE_BINDING = Kind(
    group=_GROUP,
    kind="RoleBinding",
    create_on_update=True,
    name_form=PATH_SEGMENT_NAME,
    set_defaults=set_role_binding_defaults,
    cells=cells_cluster.role_binding,
)
CLUSTER_ROLE_BINDING = attrs.evolve(ROLE_BINDING, kind="ClusterRoleBinding")

KINDS = (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING)
