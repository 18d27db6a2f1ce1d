"""Responses of the server to a test, and the error that refusals raise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

MOST_SHOWN = 500
"""Characters of a body that is no Status in the text of its error."""


class ApiError(Exception):
    """Refusal by the server: `code` (409), `reason` ("Conflict") and the `status` object, empty if there is none."""

    def __init__(self, what: str, code: int, reason: str, message: str, status: Mapping[str, Any]) -> None:
        super().__init__(f"{what}: {code} {reason}: {message}" if reason else f"{what}: {code}: {message}")
        self.code = code
        self.reason = reason
        self.status = status


class RawAnswer(msgspec.Struct, frozen=True):
    """Complete response. Header names are in lower case; the values of repeated headers are joined by ", "."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body's JSON value."""
        return json.loads(self.body)

    def checked(self, what: str) -> RawAnswer:
        """Return the response itself. Raises ApiError, whose text begins with `what`, for codes of 400 and above."""
        __tracebackhide__ = True
        if self.code < 400:
            return self
        raise refusal(what, self.code, self.body)


def refusal(what: str, code: int, body: bytes) -> ApiError:
    """Return the error of a refused request."""
    try:
        status = json.loads(body)
    except ValueError:
        status = {}
    if not isinstance(status, dict) or status.get("kind") != "Status":
        return ApiError(what, code, "", body[:MOST_SHOWN].decode(errors="replace"), {})
    return ApiError(what, code, status.get("reason", ""), status.get("message", ""), status)
