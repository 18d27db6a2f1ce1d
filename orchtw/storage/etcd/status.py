"""Errors of etcd, and the API errors that they become."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Expired, InternalError, StatusError, TooLargeToStore, TooManyRequests
from orchtw.outbound.grpc.status import RESOURCE_EXHAUSTED, RpcError

COMPACTED: Final = "required revision has been compacted"
TO_COME: Final = "required revision is a future revision"
NO_LEADER: Final = "etcdserver: no leader"
TOO_LARGE: Final = "etcdserver: request is too large"
NO_SPACE: Final = "etcdserver: mvcc: database space exceeded"
BUSY: Final = "etcdserver: too many requests"
_LARGE: Final = "message larger than max"


class EtcdFailure(InternalError):
    """500: the cluster's error, or the lack of a response, in the words that clients know."""

    reason = ""


class EtcdTooLarge(EtcdFailure, TooLargeToStore):
    """500: the value is larger than the cluster takes."""


def status_of(error: RpcError) -> StatusError:
    """Return the API error for a failed call."""
    if COMPACTED in error.text:
        return Expired.list()
    if error.code == RESOURCE_EXHAUSTED and _LARGE in error.text:
        return EtcdTooLarge(TOO_LARGE)
    if error.text == BUSY:
        return TooManyRequests(error.text, {"retryAfterSeconds": 1})
    return EtcdFailure(error.text)
