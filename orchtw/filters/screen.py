"""Early rejection by request head: decides whether a body is worth reading into memory."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import ensureDeferred

from orchtw.authn.method import UNAUTHENTICATED, Authenticator
from orchtw.authz.decision import Authorizer, Decision
from orchtw.authz.refusal import forbidden
from orchtw.errors import StatusError
from orchtw.filters.impersonation import PREFIX
from orchtw.filters.shutting_down import Doors
from orchtw.request import Request, Response, UserInfo
from orchtw.rules.request_info import parse


class Screen:
    """Rejection of requests that the stages would reject whatever their body; also tells known users from anonymous.

    Everything else is left to the stages, which still see the complete request. Before the doors are open nothing
    is rejected. `refused` answers a rejected request (see `chain.refused`).
    """

    def __init__(
        self,
        authenticator: Authenticator,
        authorizer: Authorizer,
        refused: Callable[[Request, StatusError], Coroutine[Any, Any, Response]],
        doors: Doors,
    ) -> None:
        self._doors = doors
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._refused = refused

    def __call__(self, head: Request) -> Coroutine[Any, Any, Response] | bool:
        """Return the response to a rejected request (401; 403 for an anonymous user), else whether the user is known.

        Authenticators that need a remote call are not awaited: their users count as anonymous here.
        """
        if not self._doors.open:
            return False
        try:
            head.info = parse(head.method, head.path, head.params)
            user = self._authenticator.authenticate(head)
            if not isinstance(user, UserInfo):
                if user is not None:
                    _abandon(user)
                return False
            head.authenticated = head.user = user
            if UNAUTHENTICATED not in user.groups:
                return True
            self._check(head, user)
        except StatusError as error:
            return self._refused(head, error)
        return False

    def _check(self, head: Request, user: UserInfo) -> None:
        """Raise Forbidden (403) for what an anonymous user may not do; impersonation is left to its stage."""
        assert head.info is not None
        if any(name.startswith(PREFIX) for name in head.headers):
            return
        decision = self._authorizer.authorize(user, head.info)
        if not isinstance(decision, Decision):
            _abandon(decision)
        elif not decision.allowed:
            head.decision = decision
            raise forbidden(user, head.info, decision.why)


def _abandon(asked: Any) -> None:
    """Let a pending decision run unobserved; the stage asks again when the request is complete."""
    ensureDeferred(asked).addErrback(lambda _failure: None)
