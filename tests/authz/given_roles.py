"""Roles and bindings that a test gives, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from orchtw.authz.live_roles import LiveRoles
from orchtw.authz.rbac_index import Binding, RoleIndex, RoleKey
from orchtw.bootstrap.rbac import expected_objects
from orchtw.naming.naming import Naming
from orchtw.rules.rbac import PolicyRule, rules_of
from orchtw.wire.objects import Object


class GivenRoles(LiveRoles):
    """Roles and bindings are put in and taken out by hand."""

    def __init__(self, naming: Naming) -> None:
        super().__init__(cast(Any, None), naming)
        self.roles: dict[RoleKey, Sequence[PolicyRule]] = {}
        self._index = RoleIndex(self.roles.get)
        self._follows = True

    @classmethod
    def bootstrap(cls, naming: Naming) -> GivenRoles:
        """Return the roles that every installation has."""
        made = cls(naming)
        for plural, obj in expected_objects(naming):
            (made.put_role if plural in ("roles", "clusterroles") else made.put_binding)(obj)
        return made

    def put_role(self, obj: Object) -> None:
        """A role is new, or has changed."""
        key = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        self.roles[key] = rules_of(obj)
        self._index.forget_role(key)
        self._tell()

    def drop_role(self, namespace: str, name: str) -> None:
        """Remove a role and notify."""
        self.roles.pop((namespace, name), None)
        self._index.forget_role((namespace, name))
        self._tell()

    def put_binding(self, obj: Object) -> None:
        """A binding is new, or has changed."""
        self._index.put(Binding.of(obj))
        self._tell()

    def drop_binding(self, namespace: str, name: str) -> None:
        """Remove a binding and notify."""
        self._index.remove((namespace, name))
        self._tell()
