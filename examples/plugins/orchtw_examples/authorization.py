"""Authorization mode ReadersRead: members of the group `readers` may read every resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.authz.decision import ALLOWED, NO_OPINION, AuthzHost, Decision, ResourceRule, UserRules
from orchtw.plugins import AuthorizationPlugin
from orchtw.request import RequestInfo, UserInfo

GROUP = "readers"
READS = ("get", "list", "watch")


class ReadersRead:
    """Has no opinion on anything but reads by the group."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow reads of resources to the group."""
        reads = info.is_resource and info.verb in READS
        return ALLOWED if reads and GROUP in user.groups else NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """List the one rule, for members of the group."""
        if GROUP not in user.groups:
            return UserRules()
        return UserRules(resources=(ResourceRule(verbs=READS, groups=("*",), resources=("*",)),))


def make(host: AuthzHost, values: Mapping[str, Any]) -> ReadersRead:
    """Return the mode, which needs no settings."""
    return ReadersRead()


READERS_READ = AuthorizationPlugin(make=make)
