"""Errors of calls: gRPC codes, and the API errors that they become."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Expired, InternalError, StatusError, TooManyRequests

CANCELLED, DEADLINE_EXCEEDED, NOT_FOUND, RESOURCE_EXHAUSTED = 1, 4, 5, 8
OUT_OF_RANGE, INTERNAL, UNAVAILABLE = 11, 13, 14

LATE: Final = "context deadline exceeded"
COMPACTED: Final = "required revision has been compacted"
TO_COME: Final = "required revision is a future revision"
NO_LEADER: Final = "etcdserver: no leader"
TOO_LARGE: Final = "etcdserver: request is too large"
NO_SPACE: Final = "etcdserver: mvcc: database space exceeded"
BUSY: Final = "etcdserver: too many requests"
_LARGE: Final = "message larger than max"


class RpcError(Exception):
    """A call has failed with `code`; `sent` says whether the member may have done all the same what it asks for."""

    def __init__(self, code: int, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.sent = sent


class EtcdFailure(InternalError):
    """500: what the cluster says, or that it says nothing, in the words that clients know."""

    reason = ""


def status_of(error: RpcError) -> StatusError:
    """Return the API error for a failed call."""
    if COMPACTED in error.text:
        return Expired.list()
    if error.code == RESOURCE_EXHAUSTED and _LARGE in error.text:
        return EtcdFailure(TOO_LARGE)
    if error.text == BUSY:
        return TooManyRequests(error.text, {"retryAfterSeconds": 1})
    return EtcdFailure(error.text)
