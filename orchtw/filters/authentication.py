"""Who asks (reference AUTHN-2)?"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from time import perf_counter
from typing import Any

from orchtw.authn.method import Authenticator
from orchtw.errors import Unauthorized
from orchtw.filters.chain import Proceed
from orchtw.metrics.authentication import Attempts
from orchtw.request import Request, Response, UserInfo


class AuthenticationStage:
    """Fills in `request.authenticated` and `request.user`, or refuses with 401."""

    def __init__(self, authenticator: Authenticator, attempts: Attempts) -> None:
        self._authenticator = authenticator
        self._attempts = attempts

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Ask the authenticator; one that knows at once is not awaited."""
        began = perf_counter()
        try:
            user = self._authenticator.authenticate(request)
        except Unauthorized:
            self._attempts.took_in_vain(perf_counter() - began)
            raise
        if user is not None and not isinstance(user, UserInfo):
            return self._wait(request, user, proceed, began)
        return self._go_on(request, user, proceed, began)

    async def _wait(
        self, request: Request, user: Awaitable[UserInfo | None], proceed: Proceed, began: float
    ) -> Response:
        try:
            found = await user
        except Unauthorized:
            self._attempts.took_in_vain(perf_counter() - began)
            raise
        request.step("Authenticated")
        return await self._go_on(request, found, proceed, began)

    def _go_on(
        self, request: Request, user: UserInfo | None, proceed: Proceed, began: float
    ) -> Coroutine[Any, Any, Response]:
        if user is None:
            raise Unauthorized
        self._attempts.succeeded(user.name, perf_counter() - began)
        request.authenticated = request.user = user
        return proceed(request)
