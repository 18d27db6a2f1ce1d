"""Last stage before the handler: may the user do this (seed 2 §5)?"""

from __future__ import annotations

from orchtw.authz.decision import Authorizer, Decision
from orchtw.authz.refusal import forbidden
from orchtw.request import Request, Response


class AuthorizationStage:
    """Refuses with 403 what the authorizer does not allow."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def handle(self, request: Request) -> Response | None:
        """Ask the authorizer; one that decides at once is not awaited."""
        assert request.user is not None and request.info is not None
        decision = self._authorizer.authorize(request.user, request.info)
        if not isinstance(decision, Decision):
            decision = await decision
        if not decision.allowed:
            raise forbidden(request.user, request.info, decision.reason)
        return None
