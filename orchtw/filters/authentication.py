"""Who asks (reference AUTHN-2)?"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any

from orchtw.authn.method import Authenticator
from orchtw.errors import Unauthorized
from orchtw.filters.chain import Proceed
from orchtw.request import Request, Response, UserInfo


class AuthenticationStage:
    """Fills in `request.authenticated` and `request.user`, or refuses with 401."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Ask the authenticator; one that knows at once is not awaited."""
        user = self._authenticator.authenticate(request)
        if user is not None and not isinstance(user, UserInfo):
            return self._wait(request, user, proceed)
        return _go_on(request, user, proceed)

    async def _wait(self, request: Request, user: Awaitable[UserInfo | None], proceed: Proceed) -> Response:
        found = await user
        request.step("Authenticated")
        return await _go_on(request, found, proceed)


def _go_on(request: Request, user: UserInfo | None, proceed: Proceed) -> Coroutine[Any, Any, Response]:
    if user is None:
        raise Unauthorized
    request.authenticated = request.user = user
    return proceed(request)
