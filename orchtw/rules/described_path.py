"""Targets of requests that another API server answers, as they were described here (reference AGG-18).

What is authorized is the description of a request. The other server may read a path in another way: it may take an
escaped slash for a slash, two for one, or `;` for the end of a segment. So it gets a path that is made of the
description, and never one that can be read in two ways.
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
"""What stands in a segment without an escape: all that RFC 3986 allows but `;`, which begins parameters for some."""

_UP: Final = re.compile(r"(?:^|[/\\])\.\.?(?:$|[/\\;])")
"""A segment that is a step to the same or the upper folder, for one who takes `\\` for `/` or cuts at `;`."""

_AMBIGUOUS: Final = re.compile(r"[/%\\\x00-\x1f\x7f]")

_GROUP_VERSION: Final = 3
"""Segments of `/apis/GROUP/VERSION`."""

_DECIDING: Final = ("watch", "fieldSelector")
"""Parameters that the description depends on: the first one of a name decides."""


def group_version(request: Request, info: RequestInfo) -> tuple[str, str]:
    """The group and version that a request is about: by a resource of it, or by its own path."""
    if info.is_resource:
        return info.group, info.version
    parts, _ = segments(request.path)
    return (parts[1], parts[2]) if len(parts) == _GROUP_VERSION and parts[0] == "apis" else ("", "")


def described_target(request: Request, info: RequestInfo) -> str:
    """Path and query of a request for what another server has.

    Raises BadRequest (400) for a name that no object can have, NotFound (404) for what could be read in another way.
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
    if not info.is_resource and not exact:  # what is no resource path is authorized as it is written
        raise NotFound.generic()
    if info.is_resource and not info.namespace:
        parts = _across_namespaces(parts)
    slash = "/" if exact and request.path.endswith("/") else ""
    return "".join(f"/{quote(part, safe=_PLAIN)}" for part in parts) + slash


def _across_namespaces(parts: list[str]) -> list[str]:
    """The same path without an empty namespace."""
    for place in (3, 4):
        if parts[place : place + 2] == ["namespaces", ""]:
            return parts[:place] + parts[place + 2 :]
    return parts


def _query(query: str, params: Mapping[str, list[str]]) -> str:
    """The query with those parameters once that the description depends on; `;` parts none, as it did here."""
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
