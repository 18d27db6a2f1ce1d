"""Matching of requests to flow schemas (reference FLOW-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.request import RequestInfo, UserInfo
from orchtw.wire.objects import Object

ALL: Final = "*"
BY_USER: Final = "ByUser"
BY_NAMESPACE: Final = "ByNamespace"
DANGLING: Final = "Dangling"
ACCOUNT_PREFIX: Final = "system:serviceaccount:"


class Words:
    """List of words of which one has to match; the star matches every word."""

    __slots__ = ("_all", "_words")

    def __init__(self, words: Sequence[str]) -> None:
        self._all = ALL in words
        self._words = frozenset(words)

    def __contains__(self, word: str) -> bool:
        return self._all or word in self._words

    @property
    def all(self) -> bool:
        """Report whether the rule matches every value."""
        return self._all


class ResourceRule:
    """Rule of a flow schema for resource requests: verbs, groups, resources, namespaces."""

    __slots__ = ("_cluster", "_groups", "_namespaces", "_resources", "_verbs", "everything")

    def __init__(self, rule: Object) -> None:
        self._verbs = Words(rule.get("verbs") or ())
        self._groups = Words(rule.get("apiGroups") or ())
        self._resources = Words(rule.get("resources") or ())
        self._namespaces = Words(rule.get("namespaces") or ())
        self._cluster = bool(rule.get("clusterScope"))
        parts = self._verbs, self._groups, self._resources, self._namespaces
        self.everything = self._cluster and all(words.all for words in parts)

    def matches(self, info: RequestInfo) -> bool:
        """Report whether the rule matches; requests for all namespaces count as cluster-scoped."""
        if info.verb not in self._verbs or info.group not in self._groups:
            return False
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        if resource not in self._resources:
            return False
        return info.namespace in self._namespaces if info.namespace else self._cluster


class PathRule:
    """Rule of a flow schema for non-resource requests: verbs and paths."""

    __slots__ = ("_paths", "_prefixes", "_verbs", "everything")

    def __init__(self, rule: Object) -> None:
        paths = rule.get("nonResourceURLs") or ()
        self._verbs = Words(rule.get("verbs") or ())
        self._paths = Words(paths)
        self._prefixes = tuple(path[:-1] for path in paths if path.endswith(ALL))
        self.everything = self._verbs.all and self._paths.all

    def matches(self, info: RequestInfo) -> bool:
        """Report whether the rule matches a request."""
        return info.verb in self._verbs and (info.path in self._paths or info.path.startswith(self._prefixes))


class Subjects:
    """Subjects of a rule: users by name, groups, and service accounts by their users' names."""

    __slots__ = ("_groups", "_prefixes", "_users")

    def __init__(self, subjects: Sequence[Object]) -> None:
        users, groups, prefixes = [], [], []
        for subject in subjects:
            kind = subject.get("kind")
            if kind == "User":
                users.append(_name(subject.get("user")))
            elif kind == "Group":
                groups.append(_name(subject.get("group")))
            elif kind == "ServiceAccount":
                account = subject.get("serviceAccount") or {}
                prefix, name = f"{ACCOUNT_PREFIX}{account.get('namespace', '')}:", _name(account)
                if name == ALL:
                    prefixes.append(prefix)
                else:
                    users.append(prefix + name)
        self._users, self._groups, self._prefixes = Words(users), Words(groups), tuple(prefixes)

    def name(self, user: UserInfo) -> bool:
        """Report whether the user is one of the subjects."""
        if user.name in self._users or user.name.startswith(self._prefixes):
            return True
        return self._groups.all or any(group in self._groups for group in user.groups)


class FlowRule(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Subjects and their requests. `everything`: the rule matches all requests of its subjects."""

    subjects: Subjects
    resources: Sequence[ResourceRule]
    paths: Sequence[PathRule]
    everything: bool

    @classmethod
    def of(cls, rule: Object) -> FlowRule:
        """Parse the rule of a schema."""
        resources = tuple(map(ResourceRule, rule.get("resourceRules") or ()))
        paths = tuple(map(PathRule, rule.get("nonResourceRules") or ()))
        everything = any(each.everything for each in resources) and any(each.everything for each in paths)
        return cls(
            subjects=Subjects(rule.get("subjects") or ()), resources=resources, paths=paths, everything=everything
        )

    def matches(self, info: RequestInfo) -> bool:
        """Report whether the rule matches the request, given that a subject matches the user."""
        if self.everything:
            return True
        for rule in self.resources if info.is_resource else self.paths:
            if rule.matches(info):
                return True
        return False


class Schema(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One flow schema, parsed. `dangling` is the condition in its status."""

    name: str
    uid: str
    precedence: int
    level: str
    by: str
    rules: Sequence[FlowRule]
    dangling: Mapping[str, Any]

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Schema:
        """Parse an object that has passed validation, or a damaged one as far as possible."""
        meta, spec = obj.get("metadata") or {}, obj.get("spec") or {}
        conditions = (obj.get("status") or {}).get("conditions") or ()
        return cls(
            name=meta.get("name", ""),
            uid=meta.get("uid", ""),
            precedence=spec.get("matchingPrecedence", 0),
            level=_name(spec.get("priorityLevelConfiguration")),
            by=(spec.get("distinguisherMethod") or {}).get("type", ""),
            rules=tuple(map(FlowRule.of, spec.get("rules") or ())),
            dangling=next((each for each in conditions if each.get("type") == DANGLING), {}),
        )

    def of_user(self, user: UserInfo) -> Sequence[FlowRule]:
        """Return the rules that apply to the user."""
        return tuple(rule for rule in self.rules if rule.subjects.name(user))


def _name(part: Object | None) -> str:
    name: str = (part or {}).get("name", "")
    return name
