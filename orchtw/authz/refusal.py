"""Text of 403 responses from authorization (reference ERR-26)."""

from __future__ import annotations

from html import escape

from orchtw.errors import Forbidden
from orchtw.request import RequestInfo, UserInfo
from orchtw.values.causes import go_quote


def forbidden(user: UserInfo, info: RequestInfo, reason: str = "") -> Forbidden:
    """Return the 403 for a request, with the authorizer's reason after a colon.

    Client-chosen parts are HTML-escaped, so that no browser interprets them.
    """
    why = escape(f"User {go_quote(user.name)} cannot {info.verb} {_what(info)}", quote=False)
    if reason:
        why += f": {reason}"
    if not info.is_resource:
        return Forbidden.path(why)
    return Forbidden.of(info.resource, info.group, info.name, why)


def _what(info: RequestInfo) -> str:
    if not info.is_resource:
        return f"path {go_quote(info.path)}"
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    scope = f"in the namespace {go_quote(info.namespace)}" if info.namespace else "at the cluster scope"
    return f"resource {go_quote(resource)} in API group {go_quote(info.group)} {scope}"
