"""The line of stages that every request passes, and what happens to what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from orchtw.errors import InternalError, NotFound, StatusError
from orchtw.filters.audit_id import audit_id
from orchtw.filters.deadline import Deadline
from orchtw.filters.request_log import RequestLog, shown
from orchtw.request import Request, Response
from orchtw.rules.warnings import warning_headers

ORDER = ("request-info", "authentication", "audit", "impersonation", "flow-control", "authorization", "handler")
"""The names of the places in the line. A place without a stage is passed at no cost."""


class Stage(Protocol):
    """One stage of the line."""

    async def handle(self, request: Request) -> Response | None:
        """Answer the request, or None to pass it on; raise a StatusError to refuse it."""


@attrs.frozen(slots=True)
class Placed:
    """A stage at its place."""

    place: str
    stage: Stage


def in_order(stages: Sequence[Placed]) -> tuple[Stage, ...]:
    """The stages, checked to stand in the order of the places.

    Raises ValueError: a place is unknown, or a stage stands before one that belongs in front of it.
    """
    positions = [ORDER.index(placed.place) for placed in stages]
    if positions != sorted(positions):
        raise ValueError(f"stages out of order: {[placed.place for placed in stages]}")
    return tuple(placed.stage for placed in stages)


class App:
    """What the edge calls: runs the stages and turns refusals and faults into Status answers.

    `refuse` makes a response of a StatusError in the format that the request accepts.
    """

    _log = Logger()

    def __init__(
        self,
        stages: Sequence[Placed],
        refuse: Callable[[Request, StatusError], Response],
        deadline: Deadline,
        log: RequestLog | None = None,
    ) -> None:
        self._stages = in_order(stages)
        self._refuse = refuse
        self._deadline = deadline
        self._request_log = log

    async def __call__(self, request: Request) -> Response:
        """Answer one request; only cancellation comes out as an exception."""
        began = self._request_log.now() if self._request_log else 0.0
        request.audit_id = audit_id(request.headers.get("audit-id", ""))
        try:
            response = await self._deadline.keep(request, self._run(request))
        except StatusError as error:
            response = self._refuse(request, error)
        except CancelledError:
            raise
        except Exception:
            self._log.failure("request {audit_id} failed: {method} {path}", audit_id=request.audit_id,
                              method=request.method, path=shown(request.path))
            text = f"an error on the server prevented the request from succeeding; its audit id is {request.audit_id}"
            response = self._refuse(request, InternalError.of(text))
        return self._finished(request, response, began)

    def refused(self, request: Request, error: StatusError) -> Response:
        """The answer to a request that is refused before its body has come: no stage sees it."""
        began = self._request_log.now() if self._request_log else 0.0
        request.audit_id = audit_id(request.headers.get("audit-id", ""))
        return self._finished(request, self._refuse(request, error), began)

    def _finished(self, request: Request, response: Response, began: float) -> Response:
        """Add what every answer has, and log it."""
        response.headers.append(("Audit-Id", request.audit_id))
        if request.warnings:
            response.headers += warning_headers(request.warnings)
        if not any(name == "Cache-Control" for name, _ in response.headers):
            response.headers.append(("Cache-Control", "no-cache, private"))
        if self._request_log:
            self._request_log.answered(request, response, began)
        return response

    async def _run(self, request: Request) -> Response:
        for stage in self._stages:
            answer = await stage.handle(request)
            if answer is not None:
                return answer
        raise NotFound.generic()
