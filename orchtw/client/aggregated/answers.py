"""Error responses of aggregated API servers, as a client of the release reports them (reference AGG-17)."""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServiceUnavailable,
    StatusError,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)

UNAVAILABLE: Final = "the server is currently unable to handle the request"
"""Error for a server that does not answer, or not as an API server does."""

LONGEST: Final = 1024
"""Limit of a message's characters: it may be shown in a condition."""

_CLASSES: Final[tuple[type[StatusError], ...]] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, AlreadyExists, Conflict,
    Expired, RequestEntityTooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, ServiceUnavailable,
    Timeout,
)  # fmt: skip
_BY_REASON: Final = {each.reason: each for each in _CLASSES} | {"Gone": Expired}  # both ask for a new list
_BY_CODE: Final = {each.code: each for each in _CLASSES} | {409: Conflict, 410: Expired}

_TEXTS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: "the server does not allow access to the requested resource",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    410: "the requested resource is no longer available",
    413: "request entity too large",
    415: "the body of the request was in an unknown format",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: UNAVAILABLE,
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class LargeAnswer(InternalError):
    """Error about a response beyond the size limit; `answered` is its status."""

    def __init__(self, answered: int) -> None:
        super().__init__("the answer of the aggregated API server is too large")
        self.answered = answered


def unavailable() -> StatusError:
    """Return the error for a missing response."""
    return ServiceUnavailable(UNAVAILABLE)


def refusal(code: int, body: bytes) -> StatusError:
    """Return the error of an unsuccessful response, whose body may be a Status."""
    try:
        status = orjson.loads(body)
    except ValueError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return of_status(status, code)
    return _of_code(code, body)


def of_status(status: dict[str, Any], code: int = 0) -> StatusError:
    """Return the error of a Status, as in an ERROR event."""
    own = status.get("code")
    code = own if isinstance(own, int) and not isinstance(own, bool) else code
    kind = _BY_REASON.get(status.get("reason") or "") if isinstance(status.get("reason"), str) else None
    kind = kind or _BY_CODE.get(code, InternalError)
    details, message = status.get("details"), status.get("message")
    text = message if isinstance(message, str) and message else _TEXTS.get(code, "unknown")
    return made(kind, text[:LONGEST], details if isinstance(details, dict) else None)


def made(kind: type[StatusError], text: str, details: dict[str, Any] | None = None) -> StatusError:
    """Return an error of that class with that text, bypassing its constructor."""
    error = kind.__new__(kind)
    StatusError.__init__(error, text, details)
    return error


def _of_code(code: int, body: bytes) -> StatusError:
    text = _TEXTS.get(code)
    if text is None:
        shown = body[:LONGEST].decode("utf-8", "replace").strip()
        text = f'an error on the server ("{shown}") has prevented the request from succeeding'
    return made(_BY_CODE.get(code, InternalError), text)
