"""Errors that faults answer with: the classes and texts of the real ones."""

from __future__ import annotations

from typing import Any, Final

from orchtw.errors import (
    Conflict,
    Expired,
    InternalError,
    ServiceUnavailable,
    StatusError,
    Timeout,
    TooManyRequests,
)
from orchtw.faults.kinds import CONFLICT, EXPIRED, THROTTLED
from orchtw.faults.rule import FaultRule
from orchtw.request import RequestInfo
from orchtw.rules.resource_version import parse_revision

_THROTTLED: Final = "the server has received too many requests and has asked us to try again later"
_UNAVAILABLE: Final = "the server is currently unable to handle the request"
_INTERNAL: Final = "a fault rule of this server failed the request"


def error_of(rule: FaultRule, info: RequestInfo, name: str, version: str) -> StatusError:
    """Return the error with which a rule answers a request.

    `name` is that of the request's object, `version` the resourceVersion that it asks for.
    """
    error = _error(rule, info, name, version)
    if rule.message:
        error.message = rule.message
    if rule.retry_after_s:
        details: dict[str, Any] = error.details or {}
        error.details = {**details, "retryAfterSeconds": rule.retry_after_s}
    return error


def too_old(rule: FaultRule, revision: int) -> Expired:
    """Return the error 410 that ends a watch at a revision."""
    error = Expired.watch(revision, revision + 1)
    if rule.message:
        error.message = rule.message
    return error


def _error(rule: FaultRule, info: RequestInfo, name: str, version: str) -> StatusError:
    if rule.kind == CONFLICT:
        return Conflict.modified(info.resource, info.group, name)
    if rule.kind == EXPIRED:
        return Expired.list() if info.verb == "list" else too_old(rule, _revision(version))
    if rule.kind == THROTTLED:
        return TooManyRequests(_THROTTLED)
    if rule.status == ServiceUnavailable.code:
        return ServiceUnavailable(_UNAVAILABLE)
    if rule.status == InternalError.code:
        return InternalError.of(_INTERNAL)
    return Timeout.request()


def _revision(version: str) -> int:
    """Return a resourceVersion as a number; 0 for anything that is not one, and would be refused later."""
    try:
        return parse_revision(version)
    except ValueError:
        return 0
