"""Responses that the edge makes by itself, and sizes of responses without reading their pieces."""

from __future__ import annotations

import orjson
from twisted.internet.error import ConnectionAborted
from twisted.python.failure import Failure

from orchtw.errors import StatusError, TooManyRequests
from orchtw.request import Ending, Response


def status_response(error: StatusError) -> Response:
    """Return the Status of an error in JSON, with its Retry-After if any."""
    headers = [("Retry-After", str(error.retry_after_s))] if error.retry_after_s else []
    body = orjson.dumps(error.to_status(), option=orjson.OPT_APPEND_NEWLINE)
    return Response(code=error.code, content_type="application/json", body=body, headers=headers)


def no_room() -> TooManyRequests:
    """Return the error 429: the byte budget is spent."""
    return TooManyRequests.no_room()


def size_of(response: Response) -> int:
    """Return the body's length in bytes, without reading the pieces of a sequence that knows it."""
    if response.length is not None:
        return response.length
    body = response.body
    return len(body) if isinstance(body, bytes) else sum(map(len, body))


def ending_of(reason: Failure) -> Ending:
    """Return the outcome of a response whose connection was lost: ours if we aborted the connection."""
    return Ending.ABORTED if isinstance(reason.value, ConnectionAborted) else Ending.CLIENT_GONE
