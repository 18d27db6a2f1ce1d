"""Modes AlwaysAllow and AlwaysDeny (reference AUTHZ-9)."""

from __future__ import annotations

from orchtw.authz.decision import ALLOWED, EVERYTHING, Decision, UserRules
from orchtw.request import RequestInfo, UserInfo

_FORBIDDEN = Decision(None, "Everything is forbidden.")


class AlwaysAllow:
    """Everybody may do everything."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow every request of every user."""
        return ALLOWED

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return rules that allow everything."""
        return EVERYTHING


class AlwaysDeny:
    """Nobody may do anything, but for those whom an earlier authorizer allowed."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """No opinion, with the reason that the refusal will carry."""
        return _FORBIDDEN

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return rules that allow nothing."""
        return UserRules()
