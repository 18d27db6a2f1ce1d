"""Authorization stage of the request chain (reference AUTHZ-5)."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from time import perf_counter
from typing import Any

from orchtw.authz.decision import Authorizer, Decision, Lasting
from orchtw.authz.refusal import forbidden
from orchtw.filters.chain import Proceed
from orchtw.filters.plan import AS_IT_IS, Part, Passage, Short
from orchtw.metrics.series import Histogram
from orchtw.request import Request, Response


class AuthorizationStage:
    """Stage that rejects requests which the authorizer does not allow; `took` observes its latency in seconds."""

    def __init__(self, authorizer: Authorizer, took: Histogram) -> None:
        self._authorizer = authorizer
        self._took = took

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Ask the authorizer; a decision that is not awaitable costs no coroutine. Raises Forbidden (403)."""
        assert request.user is not None and request.info is not None
        began = perf_counter()
        decision = self._authorizer.authorize(request.user, request.info)
        if not isinstance(decision, Decision):
            return self._wait(request, decision, proceed, began)
        self._took.observe(perf_counter() - began)
        return _go_on(request, decision, proceed)

    def plan(self, request: Request) -> Part | None:
        """Hold while the authorizer would decide the same about every name."""
        authorizer, took = self._authorizer, self._took
        assert request.user is not None and request.info is not None
        stands = authorizer.lasts(request.user, request.info) if isinstance(authorizer, Lasting) else None
        if stands is None:
            return None

        def passed(passage: Passage) -> None:
            took.counts[0] += 1

        return Part(stands=stands, passed=passed)

    def shorten(self, request: Request) -> Short:
        """Hold while the authorizer would decide the same about every name; else have it asked each time."""
        authorizer, took, decision = self._authorizer, self._took, request.decision
        assert request.user is not None and request.info is not None
        stands = authorizer.lasts(request.user, request.info) if isinstance(authorizer, Lasting) else None
        if stands is None:
            return AS_IT_IS

        def fill(request: Request) -> None:
            took.counts[0] += 1
            request.decision = decision

        return Short(stands=stands, fill=fill)

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
