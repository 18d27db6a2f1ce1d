"""Audit policy: rules, of which the first that matches a request decides (reference AUDIT-8, AUDIT-9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.request import RequestInfo, UserInfo

LEVELS: Final = ("None", "Metadata", "Request", "RequestResponse")
NONE, METADATA, REQUEST, REQUEST_RESPONSE = range(len(LEVELS))

RECEIVED, STARTED, COMPLETE, PANIC = STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")


class PolicyOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a policy for a request: its level, the omitted stages, and whether managedFields are omitted."""

    level: int
    omit_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


class GroupResources(msgspec.Struct, frozen=True, kw_only=True):
    """Resources of one API group, all of them if `resources` is empty; these are spelled as in the policy."""

    group: str
    resources: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    def fits(self, info: RequestInfo) -> bool:
        """Report whether a request is for one of these resources."""
        if info.group != self.group:
            return False
        if not self.resources:
            return True
        if self.names and info.name not in self.names:
            return False
        resource, subresource = info.resource, info.subresource
        whole = f"{resource}/{subresource}" if subresource else resource
        found = self.resources
        return (
            whole in found
            or "*" in found
            or (subresource != "" and f"*/{subresource}" in found)
            or f"{resource}/*" in found
        )


class AuditRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. An empty field matches everything; a URL in `urls` may end in `*`, which matches any rest."""

    outcome: PolicyOutcome
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    resources: tuple[GroupResources, ...] = ()
    namespaces: frozenset[str] = frozenset()
    urls: tuple[str, ...] = ()

    @property
    def fits_all(self) -> bool:
        """Report whether the rule matches every request."""
        return not (self.verbs or self.users or self.groups or self.resources or self.namespaces or self.urls)

    def fits(self, user: UserInfo | None, info: RequestInfo) -> bool:
        """Report whether the rule matches a request; `user` is the authenticated user, or None."""
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.users and (user is None or user.name not in self.users):
            return False
        if self.groups and (user is None or self.groups.isdisjoint(user.groups)):
            return False
        if self.resources or self.namespaces:
            return info.is_resource and self._fits_resource(info)
        if self.urls:
            return not info.is_resource and any(_matches(info.path, url) for url in self.urls)
        return True

    def _fits_resource(self, info: RequestInfo) -> bool:
        if self.namespaces and info.namespace not in self.namespaces:
            return False
        return not self.resources or any(each.fits(info) for each in self.resources)


class AuditPolicy:
    """Rules in their order: the first that matches decides.

    They are indexed by verb, and by whether the request is for a resource: policies have dozens of rules.
    """

    def __init__(self, rules: Sequence[AuditRule]) -> None:
        named = {verb for rule in rules for verb in rule.verbs}
        kinds = (True, False)
        self._others = {kind: _candidates(rules, None, kind) for kind in kinds}
        self._by_verb = {(verb, kind): _candidates(rules, verb, kind) for verb in named for kind in kinds}
        self._last = next((rule for rule in rules if rule.fits_all), None)
        self.by_name = any(each.names for rule in rules for each in rule.resources)
        """True if an outcome may depend on an object's name."""

    def outcome(self, user: UserInfo | None, info: RequestInfo) -> PolicyOutcome:
        """Return the outcome for a request; without a matching rule, level None."""
        rules = self._by_verb.get((info.verb, info.is_resource))
        for rule in self._others[info.is_resource] if rules is None else rules:
            if rule is self._last or rule.fits(user, info):
                return rule.outcome
        return _UNHEEDED


def _candidates(rules: Sequence[AuditRule], verb: str | None, is_resource: bool) -> tuple[AuditRule, ...]:
    """Return the rules that may match a verb (None: any that no rule names), on resources or on other paths."""
    return tuple(
        rule
        for rule in rules
        if (not rule.verbs or verb in rule.verbs)
        and not (rule.urls if is_resource else rule.resources or rule.namespaces)
    )


_UNHEEDED: Final = PolicyOutcome(level=NONE)


def _matches(path: str, url: str) -> bool:
    return path == url or (url.endswith("*") and path.startswith(url.rstrip("*")))
