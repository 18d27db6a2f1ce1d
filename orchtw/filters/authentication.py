"""Second stage: who asks (seed 2)?"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from orchtw.errors import Unauthorized
from orchtw.request import Request, Response, UserInfo


class Authenticator(Protocol):
    """Reads a request's credentials; None: they say nobody that is allowed in."""

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The user, now or later; raises Unauthorized (401) for credentials that are wrong."""


class AuthenticationStage:
    """Fills in `request.user`, or refuses with 401."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    async def handle(self, request: Request) -> Response | None:
        """Ask the authenticator; one that knows at once is not awaited."""
        user = self._authenticator.authenticate(request)
        if user is not None and not isinstance(user, UserInfo):
            user = await user
        if user is None:
            raise Unauthorized
        request.user = user
        return None
