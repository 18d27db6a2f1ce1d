"""Index of roles and bindings by subject, kept up to date one object at a time.

It works on plain objects, without caches; rules of roles are loaded on demand (reference AUTHZ-16).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from orchtw.request import UserInfo
from orchtw.rules.rbac import PolicyRule
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

SERVICE_ACCOUNT: Final = "system:serviceaccount:"

RoleKey = tuple[str, str]
"""Namespace (empty: a ClusterRole) and name of a role."""

Subject = tuple[str, str]
"""Kind (User or Group) and name; a service account is the User of its name."""

MAX_KEPT: Final = 20_000
"""Maximum number of roles whose rules are cached."""

_KINDS: Final = ("User", "Group")


class Binding(msgspec.Struct, frozen=True, eq=False):
    """A binding: its key, the namespace it applies to (empty: all), its role and its subjects.

    `subjects` maps each subject to its position, and to the reason of a decision that allows it something.
    """

    key: tuple[str, str]
    namespace: str
    role: RoleKey
    subjects: dict[Subject, tuple[int, str]]

    @classmethod
    def of(cls, obj: Object) -> Binding:
        """Read a RoleBinding or ClusterRoleBinding."""
        meta, role = obj["metadata"], obj.get("roleRef") or {}
        namespace, name = meta.get("namespace", ""), meta["name"]
        key = namespace if role.get("kind") == "Role" else "", role.get("name", "")
        what, shown = ("RoleBinding", f"{name}/{namespace}") if namespace else ("ClusterRoleBinding", name)
        of = f"{role.get('kind', '')} {go_quote(role.get('name', ''))}"
        source = f"RBAC: allowed by {what} {go_quote(shown)} of {of} to "
        subjects: dict[Subject, tuple[int, str]] = {}
        for each in obj.get("subjects") or ():
            who, told = _subject(each)
            if who is not None:
                subjects.setdefault(who, (len(subjects), source + told))
        return cls((namespace, name), namespace, key, subjects)


def _subject(subject: Object) -> tuple[Subject | None, str]:
    """Return a subject and its text; None for a ServiceAccount without a namespace and for unknown kinds."""
    kind, name, namespace = subject.get("kind", ""), subject.get("name", ""), subject.get("namespace", "")
    if kind == "ServiceAccount":
        if not namespace:
            return None, ""
        return ("User", f"{SERVICE_ACCOUNT}{namespace}:{name}"), f"{kind} {go_quote(f'{name}/{namespace}')}"
    return ((kind, name) if kind in _KINDS else None), f"{kind} {go_quote(name)}"


class Grant(msgspec.Struct, frozen=True):
    """A role bound to a user: its rules (None: there is no such role), and the reason of a decision by it."""

    role: RoleKey
    rules: Sequence[PolicyRule] | None
    reason: str


class RoleIndex:
    """Index of bindings by subject, with cached rules of roles.

    `load_role` returns the rules of a role, or None if there is no such role.
    """

    def __init__(self, load_role: Callable[[RoleKey], Sequence[PolicyRule] | None]) -> None:
        self._load_role = load_role
        self._rules: dict[RoleKey, Sequence[PolicyRule] | None] = {}
        self._bindings: dict[tuple[str, str], Binding] = {}
        self._by_subject: dict[tuple[str, Subject], dict[tuple[str, str], Binding]] = {}

    def put(self, binding: Binding) -> None:
        """Add a binding, or replace a changed one."""
        self.remove(binding.key)
        self._bindings[binding.key] = binding
        for subject in binding.subjects:
            self._by_subject.setdefault((binding.namespace, subject), {})[binding.key] = binding

    def remove(self, key: tuple[str, str]) -> None:
        """Remove the binding of that namespace and name."""
        old = self._bindings.pop(key, None)
        if old is None:
            return
        for subject in old.subjects:
            place = old.namespace, subject
            del self._by_subject[place][key]
            if not self._by_subject[place]:
                del self._by_subject[place]

    def forget_role(self, key: RoleKey) -> None:
        """Drop the cached rules of a role that has changed or is gone."""
        self._rules.pop(key, None)

    def rules(self, key: RoleKey) -> Sequence[PolicyRule] | None:
        """Return the rules of a role, or None if there is no such role."""
        if key not in self._rules:
            if len(self._rules) >= MAX_KEPT:
                self._rules.clear()
            self._rules[key] = self._load_role(key)
        return self._rules[key]

    def grants(self, user: UserInfo, namespace: str) -> Iterator[Grant]:
        """Yield the user's roles, cluster-wide ones first, each part in order of the bindings' names."""
        for scope in ("", namespace) if namespace else ("",):
            for binding, reason in self._bound(user, scope):
                yield Grant(binding.role, self.rules(binding.role), reason)

    def _bound(self, user: UserInfo, scope: str) -> Iterable[tuple[Binding, str]]:
        """Return the bindings of a scope that apply to the user, each with the text of the first matching subject."""
        who = [("User", user.name), *(("Group", group) for group in user.groups)]
        places = [found for subject in who if (found := self._by_subject.get((scope, subject)))]
        if not places:
            return []
        together = {key: binding for found in places for key, binding in found.items()}
        return [(together[key], _first(together[key], who)) for key in sorted(together)]


def _first(binding: Binding, who: Iterable[Subject]) -> str:
    """Return the text of the binding for the first of its subjects that matches."""
    return min(binding.subjects[subject] for subject in who if subject in binding.subjects)[1]
