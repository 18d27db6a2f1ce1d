"""Modes AlwaysAllow and AlwaysDeny (reference AUTHZ-9)."""

from __future__ import annotations

from orchtw.authz.decision import ALLOWED, EVERYTHING, Decision, Stands, UserRules
from orchtw.request import RequestInfo, UserInfo

_FORBIDDEN = Decision(None, "Everything is forbidden.")


class AlwaysAllow:
    """Authorizer that allows every request."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow every request of every user."""
        return ALLOWED

    def lasts(self, user: UserInfo, info: RequestInfo) -> Stands:
        """Hold for ever, see `Lasting`."""
        return ()

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return rules that allow everything."""
        return EVERYTHING


class AlwaysDeny:
    """Authorizer that never allows a request; authorizers before it still may."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Return no opinion, with the reason for the 403."""
        return _FORBIDDEN

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return rules that allow nothing."""
        return UserRules()
