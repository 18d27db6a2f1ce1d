"""May the user do this (reference AUTHZ-5)?"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from time import perf_counter
from typing import Any

from orchtw.authz.decision import Authorizer, Decision
from orchtw.authz.refusal import forbidden
from orchtw.filters.chain import Proceed
from orchtw.metrics.series import Histogram
from orchtw.request import Request, Response


class AuthorizationStage:
    """Refuses with 403 what the authorizer does not allow; `took` measures how long it decides."""

    def __init__(self, authorizer: Authorizer, took: Histogram) -> None:
        self._authorizer = authorizer
        self._took = took

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Ask the authorizer; one that decides at once is not awaited."""
        assert request.user is not None and request.info is not None
        began = perf_counter()
        decision = self._authorizer.authorize(request.user, request.info)
        if not isinstance(decision, Decision):
            return self._wait(request, decision, proceed, began)
        self._took.observe(perf_counter() - began)
        return _go_on(request, decision, proceed)

    async def _wait(
        self, request: Request, asked: Awaitable[Decision], proceed: Proceed, began: float
    ) -> Response:
        decision = await asked
        self._took.observe(perf_counter() - began)
        request.step("Authorized")
        return await _go_on(request, decision, proceed)


def _go_on(request: Request, decision: Decision, proceed: Proceed) -> Coroutine[Any, Any, Response]:
    request.decision = decision
    if not decision.allowed:
        assert request.user is not None and request.info is not None
        raise forbidden(request.user, request.info, decision.why)
    return proceed(request)
