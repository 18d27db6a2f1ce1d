"""Authentication stage of the request chain (reference AUTHN-2)."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from time import perf_counter
from typing import Any

from orchtw.authn.method import Authenticator
from orchtw.authn.validity import Lasting
from orchtw.errors import Unauthorized
from orchtw.filters.chain import Proceed
from orchtw.filters.plan import Part, Passage, Short
from orchtw.metrics.authentication import Attempts
from orchtw.request import Request, Response, UserInfo


class AuthenticationStage:
    """Stage that fills in `request.authenticated` and `request.user`; `attempts` counts outcomes."""

    def __init__(self, authenticator: Authenticator, attempts: Attempts) -> None:
        self._authenticator = authenticator
        self._attempts = attempts

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Ask the authenticator; a result that is not awaitable costs no coroutine. Raises Unauthorized (401)."""
        began = perf_counter()
        try:
            user = self._authenticator.authenticate(request)
        except Unauthorized:
            self._attempts.took_in_vain(perf_counter() - began)
            raise
        if user is not None and not isinstance(user, UserInfo):
            return self._wait(request, user, proceed, began)
        return self._go_on(request, user, proceed, began)

    def plan(self, request: Request) -> Part | None:
        """Hold while the same credentials lead to the same user, whose requests are counted as before."""
        user, authenticator = request.authenticated, self._authenticator
        found = authenticator.lasts(request) if isinstance(authenticator, Lasting) else None
        if user is None or found is None:
            return None
        used, again = found.used, self._attempts.again(user.name)

        def passed(passage: Passage) -> None:
            for count in used:
                count()
            again()

        return Part(stands=found.stands, passed=passed)

    def shorten(self, request: Request) -> Short | None:
        """Hold while the same credentials lead to the same user, as in plans."""
        user, authenticator = request.authenticated, self._authenticator
        found = authenticator.lasts(request) if isinstance(authenticator, Lasting) else None
        if user is None or found is None:
            return None
        used, again = found.used, self._attempts.again(user.name)

        def fill(request: Request) -> None:
            for count in used:
                count()
            again()
            request.authenticated = request.user = user

        return Short(stands=found.stands, fill=fill)

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
