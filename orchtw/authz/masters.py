"""Authorizer before all modes: group `system:masters` may do everything (reference AUTHZ-8)."""

from __future__ import annotations

from orchtw.authz.decision import ALLOWED, EVERYTHING, NO_OPINION, Decision, Stands, UserRules
from orchtw.request import RequestInfo, UserInfo

MASTERS = "system:masters"


class Masters:
    """Authorizer that allows members of `system:masters` everything, with no opinion on others."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow members every request; no opinion on others."""
        return ALLOWED if MASTERS in user.groups else NO_OPINION

    def lasts(self, user: UserInfo, info: RequestInfo) -> Stands:
        """Hold for ever: it depends on the user alone, see `Lasting`."""
        return ()

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return rules that allow members everything."""
        return EVERYTHING if MASTERS in user.groups else UserRules()
