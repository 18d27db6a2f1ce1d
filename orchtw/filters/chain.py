"""The line of stages that every request passes: what a stage is, the order of places, and how a line is made."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Protocol

import attrs

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
    "refusals",
    "refused-requests",
    "start",
    "deadline",
    "request-info",
    "authentication",
    "audit",
    "impersonation",
    "flow-control",
    "authorization",
    "storage-version",
)
"""The names of the places, from the network inwards. A place without a stage costs nothing.

`audit` knows the user; `refused-requests` is where an audit stage sees requests that get no user, because of wrong
credentials or a bad `timeout` (reference AUDIT-5).
"""

_BEFORE_AUTHENTICATION: Final = ORDER[: ORDER.index("authentication")]

Proceed = Callable[[Request], Coroutine[Any, Any, Response]]
"""The rest of a line: from a request to its answer. Raises StatusError for a refusal, anything else for a fault."""


class Stage(Protocol):
    """One stage of the line, wrapped around the rest of it.

    A stage that looks at the answer is `async def handle(…) -> Response` and awaits `proceed(request)`. One that only
    prepares the request may be a plain function that returns `proceed(request)`: then it costs no coroutine.
    """

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Answer the request: with what `proceed` answers, or without it. Raise a StatusError to refuse it.

        A client that leaves cancels its read: CancelledError then comes out of `proceed`. To know when the answer
        has been sent, and how that ended, give the response a listener (`Response.on_end`). An answer that is
        replaced by another must be dropped (`Response.drop`).
        """


@attrs.frozen(slots=True)
class Placed:
    """A stage at its place."""

    place: str
    stage: Stage


def line(stages: Sequence[Placed], handler: Proceed) -> Proceed:
    """Compose the chain: the first stage around the second and so on, and the handler inside them all.

    Raises ValueError: a place is unknown, or a stage stands before one that belongs in front of it.
    """
    positions = [ORDER.index(placed.place) for placed in stages]
    if positions != sorted(positions):
        raise ValueError(f"stages out of order: {[placed.place for placed in stages]}")
    proceed = handler
    for placed in reversed(stages):
        proceed = _around(placed.stage, proceed)
    return proceed


def _around(stage: Stage, proceed: Proceed) -> Proceed:
    handle = stage.handle
    return lambda request: handle(request, proceed)


def declined(stages: Sequence[Placed], request: Request, error: StatusError) -> Coroutine[Any, Any, Response]:
    """Answer a request whose body is not taken, as it would be if its handler had found out when it read the body.

    It passes all stages, so that it is counted, logged and audited, and a stranger is told that it is one. One for
    which there is no room takes none in any stage.
    """
    request.given_up = isinstance(error, TooManyRequests)

    async def refuse(_request: Request) -> Response:
        raise error

    return line(stages, refuse)(request)


def refused(stages: Sequence[Placed], request: Request, error: StatusError) -> Coroutine[Any, Any, Response]:
    """Answer a request that is refused by its head alone, before its body has come.

    It passes those stages that it would have passed on its way to the refusal and that do not decide: all in front of
    authentication, and audit if its user is known.
    """
    passed = _BEFORE_AUTHENTICATION if request.authenticated is None else (*_BEFORE_AUTHENTICATION, "audit")

    async def refuse(_request: Request) -> Response:
        raise error

    return line([placed for placed in stages if placed.place in passed], refuse)(request)
