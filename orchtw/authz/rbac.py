"""Mode RBAC: what roles and bindings allow (reference AUTHZ-16 to AUTHZ-19)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

import attrs

from orchtw.authz.decision import Decision, PathRule, ResourceRule, Rules
from orchtw.authz.live_roles import LiveRoles
from orchtw.authz.rbac_index import Grant
from orchtw.naming import Naming
from orchtw.request import RequestInfo, UserInfo

Value = TypeVar("Value")

MAX_KNOWN: Final = 20_000
"""Questions whose answers are kept until a role or a binding changes: some 10 MB."""

MAX_KEY: Final = 512
"""Characters of what a client makes up and an answer is kept by."""

MAX_REASONS: Final = 32
"""Missing roles that a refusal tells."""


@attrs.frozen(slots=True)
class _Answer:
    """What holds for objects of the names in `named`, and for all others."""

    other: Decision
    named: dict[str, Decision]


class RBAC:
    """Answers a question once by looking at the user's roles, then from memory until any of them changes."""

    def __init__(self, roles: LiveRoles, naming: Naming) -> None:
        self._roles = roles
        self._naming = naming
        self._known: dict[tuple[object, ...], _Answer] = {}
        self._paths: dict[tuple[object, ...], Decision] = {}
        roles.listen(self._forget)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allowed, or no opinion."""
        if not info.is_resource:
            return self._path(user, info)
        key = (user.name, user.groups, info.namespace, info.verb, info.group, info.resource, info.subresource)
        answer = self._known.get(key)
        if answer is None:
            answer = self._resource(user, info)
            if len(info.group) + len(info.verb) + len(info.resource) + len(info.subresource) <= MAX_KEY:
                _keep(self._known, key, answer)
        return answer.named.get(info.name, answer.other) if answer.named else answer.other

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """The rules of the roles that the user has."""
        held, missing = self._roles.held(user, namespace)
        return Rules(
            resources=tuple(
                ResourceRule(verbs=each.verbs, groups=each.groups, resources=each.resources, names=each.names)
                for each in held
                if each.resources
            ),
            paths=tuple(PathRule(verbs=each.verbs, paths=each.paths) for each in held if each.paths),
            incomplete=_together(missing),
        )

    def _forget(self) -> None:
        """Somebody may have got or lost rights."""
        self._known = {}
        self._paths = {}

    def _resource(self, user: UserInfo, info: RequestInfo) -> _Answer:
        named: dict[str, Decision] = {}
        grants = list(self._roles.grants(user, info.namespace))
        for grant in grants:
            for rule in grant.rules or ():
                if rule.allows(info.verb, info.group, info.resource, info.subresource):
                    if not rule.names:
                        return _Answer(Decision(True, grant.reason), named)
                    for name in rule.names:
                        named.setdefault(name, Decision(True, grant.reason))
        return _Answer(self._refused(grants, self._naming.foreign(info.group)), named)

    def _path(self, user: UserInfo, info: RequestInfo) -> Decision:
        key = (user.name, user.groups, info.verb, info.path)
        decision = self._paths.get(key)
        if decision is None:
            decision = self._look_at_path(user, info)
            if len(info.path) + len(info.verb) <= MAX_KEY:
                _keep(self._paths, key, decision)
        return decision

    def _look_at_path(self, user: UserInfo, info: RequestInfo) -> Decision:
        grants = list(self._roles.grants(user, ""))
        for grant in grants:
            if any(rule.allows_path(info.verb, info.path) for rule in grant.rules or ()):
                return Decision(True, grant.reason)
        return self._refused(grants, "")

    def _refused(self, grants: Iterable[Grant], why: str) -> Decision:
        missing = dict.fromkeys(self._roles.missing(each.role) for each in grants if each.rules is None)
        told = f"RBAC: {_together(list(missing))}" if missing else ""
        return Decision(None, "\n".join(text for text in (told, why) if text))


def _together(reasons: list[str]) -> str:
    """Several errors as one text; without brackets where there is one."""
    if len(reasons) > MAX_REASONS:
        reasons = [*reasons[:MAX_REASONS], f"and {len(reasons) - MAX_REASONS} more"]
    return f"[{', '.join(reasons)}]" if len(reasons) > 1 else "".join(reasons)


def _keep(known: dict[tuple[object, ...], Value], key: tuple[object, ...], value: Value) -> None:
    if len(known) >= MAX_KNOWN:
        known.clear()
    known[key] = value
