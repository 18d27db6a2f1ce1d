"""RBAC policy rules: matching requests, comparing sets of rules, and formatting missing ones.

Source: the RBAC evaluation of release 1.24 (reference AUTHZ-16 to AUTHZ-21).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

ALL: Final = "*"

MAX_ATOMS: Final = 20_000
"""Most combinations (see `PolicyRule.atoms`) compared: the largest role of a release has some hundred."""


class PolicyRule(msgspec.Struct, frozen=True):
    """One rule: `verbs` on resources (with `names`, on objects of these names only), or on non-resource paths."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: Object) -> PolicyRule:
        """Parse a rule of a Role object."""
        return cls(*(tuple(rule.get(key) or ()) for key in _KEYS))

    def to_json(self) -> Object:
        """Return the rule as in a Role object, without empty fields."""
        values = msgspec.structs.astuple(self)
        return {key: list(value) for key, value in zip(_KEYS, values, strict=True) if value}

    def allows(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        """Report whether the rule allows the verb on a resource; `names` are not checked (AUTHZ-17)."""
        return (
            (verb in self.verbs or ALL in self.verbs)
            and (group in self.groups or ALL in self.groups)
            and self._has(resource, subresource)
        )

    def _has(self, resource: str, subresource: str) -> bool:
        if ALL in self.resources:
            return True
        if not subresource:
            return resource in self.resources
        return f"{resource}/{subresource}" in self.resources or f"*/{subresource}" in self.resources

    def allows_path(self, verb: str, path: str) -> bool:
        """Report whether the rule allows the verb on a non-resource path (reference AUTHZ-18)."""
        return (verb in self.verbs or ALL in self.verbs) and any(_path_covers(each, path) for each in self.paths)

    @property
    def atoms(self) -> int:
        """Return the number of combinations of verb, group, resource and name, or of verb and path."""
        objects = len(self.groups) * len(self.resources) * (len(self.names) or 1)
        return len(self.verbs) * (objects + len(self.paths))

    def __str__(self) -> str:
        parts = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.paths),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{name}:{go_quote_all(values)}" for name, values in parts if values) + "}"


_KEYS: Final = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")

EVERYTHING: Final = (PolicyRule((ALL,), (ALL,), (ALL,)), PolicyRule((ALL,), paths=(ALL,)))
"""Rules of cluster-admin: all verbs on all resources and on all paths."""


MAX_STEPS: Final = 3_000_000
"""Most checks of a held rule in one comparison; they take about a second."""


class TooManyRules(Exception):
    """Error for rules that are too many to compare; the text is for users."""


def rules_of(role: Mapping[str, Any]) -> tuple[PolicyRule, ...]:
    """Return the rules of a Role or ClusterRole."""
    return tuple(map(PolicyRule.of, role.get("rules") or ()))


def merged(rules: Iterable[PolicyRule]) -> tuple[PolicyRule, ...]:
    """Merge rules that differ only in their resources, or only in their names; the result allows the same."""
    others: list[PolicyRule] = []
    resources: dict[tuple[tuple[str, ...], ...], dict[str, None]] = {}
    names: dict[tuple[tuple[str, ...], ...], dict[str, None]] = {}
    for rule in rules:
        if rule.paths:
            others.append(rule)
        elif rule.names:
            names.setdefault((rule.verbs, rule.groups, rule.resources), {}).update(dict.fromkeys(rule.names))
        else:
            resources.setdefault((rule.verbs, rule.groups), {}).update(dict.fromkeys(rule.resources))
    return (
        *(PolicyRule(verbs, groups, tuple(several)) for (verbs, groups), several in resources.items()),
        *(PolicyRule(verbs, groups, found, tuple(several)) for (verbs, groups, found), several in names.items()),
        *others,
    )


def go_quote_all(texts: Iterable[str]) -> str:
    """Format texts as Go's %q formats a slice of strings."""
    return "[" + " ".join(map(go_quote, texts)) + "]"


def uncovered(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the parts of `wanted` that no rule of `held` covers, one rule for each combination.

    Raises TooManyRules beyond MAX_ATOMS or MAX_STEPS.
    """
    owned = [_Owned(rule) for rule in held]
    missing: dict[PolicyRule, None] = {}
    left, steps_left = MAX_ATOMS, MAX_STEPS
    known = set(held)
    for rule in wanted:
        if rule in known:
            continue
        steps_left -= len(owned)
        if steps_left < 0:
            raise TooManyRules("too many rules to compare with the writer's own")
        near = [each for each in owned if each.meets(rule)]
        for atom in _atoms(rule):
            left -= 1
            steps_left -= len(near)
            if left < 0:
                raise TooManyRules(f"the rules expand to more than {MAX_ATOMS} combinations")
            if steps_left < 0:
                raise TooManyRules("too many rules to compare with the writer's own")
            if atom not in missing and not any(each.covers(atom) for each in near):
                missing[atom] = None
    return list(missing)


def compact(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Merge single-resource rules that differ only in their verbs (reference AUTHZ-21)."""
    found: list[PolicyRule] = []
    verbs: dict[PolicyRule, list[str]] = {}
    for rule in rules:
        if rule.paths or len(rule.names) > 1 or len(rule.groups) != 1 or len(rule.resources) != 1:
            found.append(rule)
        else:
            verbs.setdefault(msgspec.structs.replace(rule, verbs=()), []).extend(rule.verbs)
    return found + [msgspec.structs.replace(rule, verbs=tuple(several)) for rule, several in verbs.items()]


def _atoms(rule: PolicyRule) -> Iterator[PolicyRule]:
    """Break a rule down into rules of one verb on one resource, name or path."""
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for name in rule.names or (None,):
                    yield PolicyRule((verb,), (group,), (resource,), () if name is None else (name,))
    for path in rule.paths:
        for verb in rule.verbs:
            yield PolicyRule((verb,), paths=(path,))


class _Owned:
    """A held rule in a form that is fast to compare."""

    __slots__ = ("_groups", "_names", "_paths", "_resources", "_verbs")

    def __init__(self, rule: PolicyRule) -> None:
        self._verbs = frozenset(rule.verbs)
        self._groups = frozenset(rule.groups)
        self._resources = frozenset(rule.resources)
        self._names = frozenset(rule.names)
        self._paths = rule.paths

    def meets(self, rule: PolicyRule) -> bool:
        """Report whether this rule may cover any part of `rule`."""
        if not (ALL in self._verbs or not self._verbs.isdisjoint(rule.verbs)):
            return False
        if rule.paths:
            return bool(self._paths)
        return ALL in self._groups or not self._groups.isdisjoint(rule.groups)

    def covers(self, atom: PolicyRule) -> bool:
        """Report whether this rule allows what `atom`, a rule of one combination, allows."""
        if not (ALL in self._verbs or atom.verbs[0] in self._verbs):
            return False
        if atom.paths:
            return any(_path_covers(each, atom.paths[0]) for each in self._paths)
        if not (ALL in self._groups or atom.groups[0] in self._groups):
            return False
        if self._names and not (atom.names and atom.names[0] in self._names):
            return False
        return self._covers_resource(atom.resources[0])

    def _covers_resource(self, resource: str) -> bool:
        if ALL in self._resources or resource in self._resources:
            return True
        _, slash, subresource = resource.partition("/")
        return bool(slash) and f"*/{subresource}" in self._resources


def _path_covers(held: str, path: str) -> bool:
    return held == path or (held.endswith("*") and path.startswith(held.rstrip("*")))
