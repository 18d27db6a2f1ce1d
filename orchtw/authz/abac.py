"""Mode ABAC: a request is allowed if any policy of a file matches it (reference AUTHZ-25)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from orchtw.authn.method import AUTHENTICATED
from orchtw.authz.decision import ALLOWED, Decision, PathRule, ResourceRule, UserRules
from orchtw.request import RequestInfo, UserInfo

READS: Final = ("get", "list", "watch")
_ANY: Final = "*"
_NO_MATCH: Final = Decision(None, "No policy matched.")


class AbacPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """One policy of the file. `*` matches anything; an empty string matches only an empty one."""

    user: str = ""
    group: str = ""
    readonly: bool = False
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""

    def for_authenticated(self) -> AbacPolicy:
        """Return the policy with `*` as user or group replaced by group `system:authenticated`."""
        if _ANY not in (self.user, self.group):
            return self
        return msgspec.structs.replace(self, user="", group=AUTHENTICATED)

    def allows(self, info: RequestInfo) -> bool:
        """Report whether the policy covers the request; its user and group are not checked."""
        if self.readonly and info.verb not in READS:
            return False
        if not info.is_resource:
            return self._covers_path(info.path)
        return (
            self.namespace in (_ANY, info.namespace)
            and self.resource in (_ANY, info.resource)
            and self.api_group in (_ANY, info.group)
        )

    def _covers_path(self, path: str) -> bool:
        if self.path in (_ANY, path):
            return True
        return self.path.endswith(_ANY) and path.startswith(self.path.rstrip(_ANY))

    @property
    def verbs(self) -> tuple[str, ...]:
        """Return the allowed verbs, for SelfSubjectRulesReviews."""
        return READS if self.readonly else (_ANY,)


class Policies:
    """Authorizer that allows a request if a policy does, and has no opinion otherwise.

    Policies are indexed by subject, so that a request is only checked against those of its user.
    """

    def __init__(self, policies: Iterable[AbacPolicy]) -> None:
        self._of_user: dict[str, list[AbacPolicy]] = {}
        self._of_group: dict[str, list[AbacPolicy]] = {}
        for policy in policies:
            if policy.user:
                self._of_user.setdefault(policy.user, []).append(policy)
            elif policy.group:
                self._of_group.setdefault(policy.group, []).append(policy)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow the request, or return no opinion."""
        for policy in self._for(user):
            if policy.allows(info):
                return ALLOWED
        return _NO_MATCH

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the policies that apply to the user in a namespace, as rules."""
        resources, paths = [], []
        for policy in self._for(user):
            if policy.resource and policy.namespace in (_ANY, namespace):
                rule = ResourceRule(verbs=policy.verbs, groups=(policy.api_group,), resources=(policy.resource,))
                resources.append(rule)
            if policy.path:
                paths.append(PathRule(verbs=policy.verbs, paths=(policy.path,)))
        return UserRules(resources=tuple(resources), paths=tuple(paths))

    def _for(self, user: UserInfo) -> Iterator[AbacPolicy]:
        for policy in self._of_user.get(user.name, ()):
            if not policy.group or policy.group in user.groups:
                yield policy
        for group in dict.fromkeys(user.groups):
            yield from self._of_group.get(group, ())
