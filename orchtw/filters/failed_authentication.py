"""Audit stage of requests whose authentication fails (reference AUDIT-5)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from orchtw.audit.auditor import Auditor
from orchtw.audit.failed_authentication import failed_record
from orchtw.audit.policy import STARTED
from orchtw.errors import BadRequest, StatusError, Unauthorized
from orchtw.filters.audit import began
from orchtw.filters.chain import Proceed
from orchtw.filters.plan import NOTHING, Part, Short
from orchtw.request import Request, Response
from orchtw.rules.request_info import parse


class RefusedRequests:
    """Audit of requests that fail before authentication has passed: invalid credentials, a malformed `timeout`.

    Such a request has one event. The stage also sets `request.received_s`.
    """

    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor
        self._seconds = auditor.seconds

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`; audit its Unauthorized or BadRequest if no user is authenticated."""
        request.received_s = self._seconds()
        try:
            answer = proceed(request)
        except (Unauthorized, BadRequest) as error:
            if request.authenticated is None:
                return self._refuse(request, error)
            raise
        return answer if request.authenticated is not None else self._watch(request, answer)

    def plan(self, request: Request) -> Part:
        """Add nothing: it is for refusals."""
        return NOTHING

    def shorten(self, request: Request) -> Short:
        """Note the time: in a short line the user is known, and a `timeout` has been understood."""
        seconds = self._seconds

        def fill(request: Request) -> None:
            request.received_s = seconds()

        return Short(fill=fill)

    async def _watch(self, request: Request, answer: Coroutine[Any, Any, Response]) -> Response:
        try:
            return await answer
        except (Unauthorized, BadRequest) as error:
            if request.authenticated is None:
                return await self._refuse(request, error)
            raise

    async def _refuse(self, request: Request, error: StatusError) -> Response:
        if request.info is None:
            request.info = parse(request.method, request.path, request.params)
        record = failed_record(self._auditor, request, error)
        if record is not None:
            await began(request, record.at(STARTED))
        raise error
