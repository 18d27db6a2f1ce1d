"""Answers that the edge gives by itself, and what it knows of an answer without looking at its pieces."""

from __future__ import annotations

import orjson
from twisted.internet.error import ConnectionAborted
from twisted.python.failure import Failure

from orchtw.errors import StatusError, TooManyRequests
from orchtw.request import Ending, Response


def status_response(error: StatusError) -> Response:
    """The Status of a refusal in JSON, with Retry-After where it carries one."""
    headers = [("Retry-After", str(error.retry_after_s))] if error.retry_after_s else []
    body = orjson.dumps(error.to_status(), option=orjson.OPT_APPEND_NEWLINE)
    return Response(code=error.code, content_type="application/json", body=body, headers=headers)


def no_room() -> TooManyRequests:
    """429: the budget of bytes is spent."""
    return TooManyRequests.no_room()


def size_of(response: Response) -> int:
    """The body's length in bytes, without asking for the pieces of a sequence that knows it."""
    if response.length is not None:
        return response.length
    body = response.body
    return len(body) if isinstance(body, bytes) else sum(map(len, body))


def ending_of(reason: Failure) -> Ending:
    """Return the outcome of a response whose connection was lost: ours if we aborted the connection."""
    return Ending.ABORTED if isinstance(reason.value, ConnectionAborted) else Ending.CLIENT_GONE
