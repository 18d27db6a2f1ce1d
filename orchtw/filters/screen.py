"""A look at the heads of requests whose bodies are yet to come: whose body is worth the memory?"""

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
    """Refuses what the stages would refuse whatever the body says, and tells known users from anonymous ones.

    It decides nothing else, and nothing before the doors are open: the stages still see the complete request.
    `refused` answers what is refused (see `chain.refused`).
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
        """The 401 of wrong credentials, the 403 of an anonymous user, or whether the user is known.

        A method that has to ask somebody is not waited for: until it has answered, its users count as anonymous.
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
        """Raise Forbidden (403) for what an anonymous user may not do; whom they impersonate is a later question."""
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
    """Not wait for an answer that takes time: the stage asks again when the request is complete."""
    ensureDeferred(asked).addErrback(lambda _failure: None)
