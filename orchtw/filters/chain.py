"""Handler chain: the `Stage` interface, the order of the stages, and their composition."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from orchtw.errors import StatusError, TooManyRequests
from orchtw.request import Request, Response

ORDER: Final = (
    "cors",
    "audit-id",
    "common-headers",
    "metrics",
    "request-log",
    "goaway",
    "shutdown",
    "panic-recovery",
    "refused-requests",
    "start",
    "timeout",
    "console",
    "request-info",
    "authentication",
    "audit",
    "impersonation",
    "flow-control",
    "authorization",
    "faults",
    "storage-version",
)
"""Names of the places in the chain, outermost first. A place without a stage costs nothing.

`audit` comes after authentication; `refused-requests` audits requests that fail before it, because of invalid
credentials or a bad `timeout` (reference AUDIT-5).
"""

_BEFORE_AUTHENTICATION: Final = ORDER[: ORDER.index("authentication")]

Proceed = Callable[[Request], Coroutine[Any, Any, Response]]
"""The rest of the chain, from request to response. Raises StatusError to reject the request; others are faults."""


class Stage(Protocol):
    """One stage of the chain, wrapped around the rest of it.

    A stage that uses the response is `async def handle(…) -> Response` and awaits `proceed(request)`. One that only
    prepares the request may be a plain function that returns `proceed(request)`: then it costs no coroutine.
    """

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`, or another. Raises StatusError to reject the request.

        When a client disconnects, its read is cancelled: `proceed` raises CancelledError. `Response.on_end` reports
        the end of sending a response. A response that is replaced by another must be dropped (`Response.drop`).
        """


class Placed(msgspec.Struct, frozen=True):
    """A stage at its place."""

    place: str
    stage: Stage


def line(stages: Sequence[Placed], handler: Proceed) -> Proceed:
    """Compose the chain: the first stage around the second and so on, with the handler innermost.

    Raises ValueError for an unknown place and for stages out of order.
    """
    positions = [ORDER.index(placed.place) for placed in stages]
    if positions != sorted(positions):
        raise ValueError(f"stages out of order: {[placed.place for placed in stages]}")
    proceed = handler
    for placed in reversed(stages):
        proceed = _around(placed.stage, proceed)
    return proceed


def _around(stage: Stage, proceed: Proceed) -> Proceed:
    # Not a function of ours: each stage of each request would pay for its frame.
    return partial(stage.handle, proceed=proceed)


def declined(stages: Sequence[Placed], request: Request, error: StatusError) -> Coroutine[Any, Any, Response]:
    """Answer a request whose body is rejected, as if its handler had raised `error` when it read the body.

    The request passes all stages, so that it is counted, logged and audited, and gets 401 or 403 where those apply.
    A TooManyRequests marks it `given_up`: stages then spend no resources on it.
    """
    request.given_up = isinstance(error, TooManyRequests)

    async def refuse(_request: Request) -> Response:
        raise error

    return line(stages, refuse)(request)


def refused(stages: Sequence[Placed], request: Request, error: StatusError) -> Coroutine[Any, Any, Response]:
    """Answer a request that is rejected by its head alone, before its body has arrived.

    It passes the stages outside authentication, and audit if its user is known.
    """
    passed = _BEFORE_AUTHENTICATION if request.authenticated is None else (*_BEFORE_AUTHENTICATION, "audit")

    async def refuse(_request: Request) -> Response:
        raise error

    return line([placed for placed in stages if placed.place in passed], refuse)(request)
