"""Targets of requests forwarded to an aggregated API server, rebuilt from their request info (reference AGG-18).

Authorization decides on the request info, but the other server may parse a path differently: it may treat an escaped
slash as a slash, two as one, or `;` as the end of a segment. It therefore gets a path built from the request info,
and ambiguous paths are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote_plus

from orchtw.errors import NotFound
from orchtw.request import Request, RequestInfo
from orchtw.rules.request_info import check_segments, segments, tail_at

_PLAIN: Final = "!$&'()*+,:=@-._~"
"""Punctuation that is not escaped in a segment: that of RFC 3986 except `;`, which some servers parse."""

_UP: Final = re.compile(r"(?:^|[/\\])\.\.?(?:$|[/\\;])")
"""A `.` or `..` segment, also for servers that treat `\\` as `/` or cut segments at `;`."""

_AMBIGUOUS: Final = re.compile(r"[/%\\\x00-\x1f\x7f]")

_GROUP_VERSION: Final = 3
"""Number of segments of `/apis/GROUP/VERSION`."""

_DECIDING: Final = ("watch", "fieldSelector")
"""Parameters that the request info depends on: the first of each name decides."""


def group_version(request: Request, info: RequestInfo) -> tuple[str, str]:
    """Return the group and version of a resource request or of `/apis/GROUP/VERSION`; empty for other paths."""
    if info.is_resource:
        return info.group, info.version
    parts, _ = segments(request.path)
    return (parts[1], parts[2]) if len(parts) == _GROUP_VERSION and parts[0] == "apis" else ("", "")


def described_target(request: Request, info: RequestInfo) -> str:
    """Return the path and query to forward.

    Raises BadRequest (400) for a name that no object can have, NotFound (404) for an ambiguous path.
    """
    path = _path(request, info)
    return f"{path}?{_query(request.query, request.params)}" if request.query else path


def _path(request: Request, info: RequestInfo) -> str:
    parts, exact = segments(request.path)
    if any(map(_UP.search, parts)):
        raise NotFound.generic()
    check_segments(info)
    end = tail_at(parts) if info.is_resource else len(parts)
    if any(map(_AMBIGUOUS.search, parts[:end])):
        raise NotFound.generic()
    if not info.is_resource and not exact:  # non-resource paths are authorized as written
        raise NotFound.generic()
    if info.is_resource and not info.namespace:
        parts = _across_namespaces(parts)
    slash = "/" if exact and request.path.endswith("/") else ""
    return "".join(f"/{quote(part, safe=_PLAIN)}" for part in parts) + slash


def _across_namespaces(parts: list[str]) -> list[str]:
    """Return the path without an empty namespace, which means all namespaces."""
    for place in (3, 4):
        if parts[place : place + 2] == ["namespaces", ""]:
            return parts[:place] + parts[place + 2 :]
    return parts


def _query(query: str, params: Mapping[str, list[str]]) -> str:
    """Return the query with only the first of each deciding parameter; `;` is escaped: it separates nothing here."""
    query = query.replace(";", "%3B")
    if all(len(params.get(name, ())) < 2 for name in _DECIDING):
        return query
    kept: list[str] = []
    seen: set[str] = set()
    for pair in query.split("&"):
        name = unquote_plus(pair.partition("=")[0])
        if name in _DECIDING and name in seen:
            continue
        seen.add(name)
        kept.append(pair)
    return "&".join(kept)
