"""Index of roles and bindings by subject, kept up to date one object at a time.

It knows plain objects and no caches; what follows from it is computed on demand (reference AUTHZ-16).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import attrs

from orchtw.request import UserInfo
from orchtw.rules.rbac import PolicyRule
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

SERVICE_ACCOUNT: Final = "system:serviceaccount:"

RoleKey = tuple[str, str]
"""Namespace (empty: a ClusterRole) and name."""

Subject = tuple[str, str]
"""Kind (User or Group) and name; a service account is the user that it is."""

MAX_KEPT: Final = 20_000
"""Roles whose rules are kept ready."""

_KINDS: Final = ("User", "Group")


@attrs.frozen(slots=True, eq=False)
class Binding:
    """Binding: its key, the namespace in which it holds (empty: everywhere), its role and its subjects.

    `subjects` map to their position, and to the text of the binding when that subject granted a right.
    """

    key: tuple[str, str]
    namespace: str
    role: RoleKey
    subjects: dict[Subject, tuple[int, str]]

    @classmethod
    def of(cls, obj: Object) -> Binding:
        """A RoleBinding, or a ClusterRoleBinding, which has no namespace."""
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
    """Return a subject and its text; a ServiceAccount without a namespace matches no one."""
    kind, name, namespace = subject.get("kind", ""), subject.get("name", ""), subject.get("namespace", "")
    if kind == "ServiceAccount":
        if not namespace:
            return None, ""
        return ("User", f"{SERVICE_ACCOUNT}{namespace}:{name}"), f"{kind} {go_quote(f'{name}/{namespace}')}"
    return ((kind, name) if kind in _KINDS else None), f"{kind} {go_quote(name)}"


@attrs.frozen(slots=True)
class Grant:
    """A role that a user has: its rules (None: there is no such role), and how to tell where it came from."""

    role: RoleKey
    rules: Sequence[PolicyRule] | None
    reason: str


class RoleIndex:
    """`load_role` gives the rules of a role, None where there is none; they are kept until the role changes."""

    def __init__(self, load_role: Callable[[RoleKey], Sequence[PolicyRule] | None]) -> None:
        self._load_role = load_role
        self._rules: dict[RoleKey, Sequence[PolicyRule] | None] = {}
        self._bindings: dict[tuple[str, str], Binding] = {}
        self._by_subject: dict[tuple[str, Subject], dict[tuple[str, str], Binding]] = {}

    def put(self, binding: Binding) -> None:
        """A binding is new, or has changed."""
        self.remove(binding.key)
        self._bindings[binding.key] = binding
        for subject in binding.subjects:
            self._by_subject.setdefault((binding.namespace, subject), {})[binding.key] = binding

    def remove(self, key: tuple[str, str]) -> None:
        """The binding of that namespace and name is gone."""
        old = self._bindings.pop(key, None)
        if old is None:
            return
        for subject in old.subjects:
            place = old.namespace, subject
            del self._by_subject[place][key]
            if not self._by_subject[place]:
                del self._by_subject[place]

    def forget_role(self, key: RoleKey) -> None:
        """The role has changed, or is gone."""
        self._rules.pop(key, None)

    def rules(self, key: RoleKey) -> Sequence[PolicyRule] | None:
        """The rules of a role; None: there is no such role."""
        if key not in self._rules:
            if len(self._rules) >= MAX_KEPT:
                self._rules.clear()
            self._rules[key] = self._load_role(key)
        return self._rules[key]

    def grants(self, user: UserInfo, namespace: str) -> Iterator[Grant]:
        """The roles that the user has: those of the whole cluster, then those of the namespace, if any, by name."""
        for scope in (("", namespace) if namespace else ("",)):
            for binding, reason in self._bound(user, scope):
                yield Grant(binding.role, self.rules(binding.role), reason)

    def _bound(self, user: UserInfo, scope: str) -> Iterable[tuple[Binding, str]]:
        """The bindings of a scope that apply to the user, each with the first subject that does."""
        who = [("User", user.name), *(("Group", group) for group in user.groups)]
        places = [found for subject in who if (found := self._by_subject.get((scope, subject)))]
        if not places:
            return []
        together = {key: binding for found in places for key, binding in found.items()}
        return [(together[key], _first(together[key], who)) for key in sorted(together)]


def _first(binding: Binding, who: Iterable[Subject]) -> str:
    """Return the text of the binding for the first of its subjects that matches."""
    return min(binding.subjects[subject] for subject in who if subject in binding.subjects)[1]
