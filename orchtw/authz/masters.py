"""The fixed authorizer before all modes: group `system:masters` may do everything (reference AUTHZ-8)."""

from __future__ import annotations

from orchtw.authz.decision import ALLOWED, EVERYTHING, NO_OPINION, Decision, UserRules
from orchtw.request import RequestInfo, UserInfo

MASTERS = "system:masters"


class Masters:
    """Allows the members of `system:masters`; has no opinion on others."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allowed by membership alone, whatever is asked."""
        return ALLOWED if MASTERS in user.groups else NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return rules that allow members everything."""
        return EVERYTHING if MASTERS in user.groups else UserRules()
