"""Request info: verb and target, from method, path and query (reference REQ-4, REQ-11).

Segments are percent-decoded once, after the path is split: an encoded slash never starts a new segment. A name or
namespace that no object can have stays in the `RequestInfo` as it is; `check_segments` rejects it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from orchtw.errors import BadRequest, StatusError
from orchtw.request import RequestInfo
from orchtw.rules.selectors import exact_field
from orchtw.values.causes import go_quote
from orchtw.values.names import path_segment

_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_SPECIAL_VERBS: Final = frozenset({"watch", "proxy"})
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
_COLLECTION_VERBS: Final = frozenset({"list", "watch", "deletecollection"})

PASSED_ON: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources that another server answers, without a time limit (reference LIMIT-3)."""


def parse(method: str, path: str, params: Mapping[str, list[str]]) -> RequestInfo:
    """Return the request's verb and target.

    `path` is raw (undecoded, without query), `params` decoded. A path that is not `/api/V/RESOURCE…` or
    `/apis/G/V/RESOURCE…` is a non-resource request: its verb is the lower-case method. Empty segments are dropped,
    except as in `segments`; a path that had any is not `exact`, and neither is one of namespaces in a namespace. A
    method without a verb has the empty verb. GET on a collection is `list` or `watch`; under `/watch/` and `/proxy/`
    the verb is `watch` and `proxy` for any method.

    `parts` starts at the resource and includes the tail after a subresource. `name` is the one in the path; for a
    collection it is that of `fieldSelector=metadata.name=x`, because authorization uses it. A request is for a
    collection if `len(parts) == 1`.
    """
    parts, exact = segments(path)
    if "%" in path:
        path = unquote(path)
    at = 2 if parts and parts[0] == "api" else 3
    if len(parts) <= at or parts[0] not in ("api", "apis"):
        return RequestInfo(is_resource=False, verb=method.lower(), path=path)
    special = parts[at] in _SPECIAL_VERBS
    if special and len(parts) < at + 2:
        return RequestInfo(is_resource=False, verb=method.lower(), path=path)
    verb = parts.pop(at) if special else _VERBS.get(method, "")
    return _of_resource(path, verb, params, tuple(parts[:at]), parts[at:], exact)


def segments(path: str) -> tuple[list[str], bool]:
    """Split a raw path into decoded segments; the second result is False if empty segments make it inexact.

    Empty segments are dropped, except after the subresource `proxy`, where another server's path begins, and for an
    empty namespace, which means all namespaces (reference REQ-10). One slash at the end is ignored.
    """
    written = path[1:].split("/") if path[:1] == "/" else []
    if written and not written[-1]:
        written.pop()
    if "%" in path:
        written = [unquote(part) for part in written]
    if "" not in written:
        return written, True
    kept = _without_empty(written)
    at = _resource_at(kept)
    single = kept[at + 1 : at + 2] == [""] and len(kept) > at + 3
    return kept, kept == written and not single


def tail_at(parts: list[str]) -> int:
    """Return the index of the first segment after a subresource."""
    at = _resource_at(parts)
    in_namespace = len(parts) > at + 2 and parts[at] == "namespaces" and parts[at + 2] not in _NAMESPACE_SUBRESOURCES
    return at + (5 if in_namespace else 3)


def _of_resource(
    path: str, verb: str, params: Mapping[str, list[str]], root: tuple[str, ...], parts: list[str], exact: bool
) -> RequestInfo:
    """Return the request info of a resource path: `root` is its `api` and version, or `apis`, group and version."""
    namespace = ""
    count = len(parts)
    if parts[0] == "namespaces" and count > 1:
        namespace = parts[1]
        if count > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            exact = exact and (root[0], parts[2]) != ("api", "namespaces")
            del parts[:2]
            count -= 2
    name = parts[1] if count > 1 else ""
    fields = labels = ""
    if not name:
        verb, name = _collection(verb, params)
        if params and verb in _COLLECTION_VERBS:
            fields, labels = _first(params, "fieldSelector"), _first(params, "labelSelector")
    return RequestInfo(
        is_resource=True,
        verb=verb,
        path=path,
        prefix=root[0],
        group=root[1] if len(root) > 2 else "",
        version=root[-1],
        namespace=namespace,
        resource=parts[0],
        subresource=parts[2] if count > 2 and verb != "proxy" else "",
        name=name,
        parts=tuple(parts),
        exact=exact,
        field_selector=fields,
        label_selector=labels,
    )


def _first(params: Mapping[str, list[str]], name: str) -> str:
    values = params.get(name)
    return values[0] if values else ""


def _resource_at(parts: list[str]) -> int:
    """Return the index of the resource or of `namespaces`: after the version and a special verb."""
    at = 2 if parts[:1] == ["api"] else 3
    return at + 1 if parts[at : at + 1] and parts[at] in _SPECIAL_VERBS else at


def _without_empty(parts: list[str]) -> list[str]:
    kept: list[str] = []
    for place, part in enumerate(parts):
        if part:
            kept.append(part)
            continue
        subresource = tail_at(kept) - 1
        if kept[subresource : subresource + 1] == ["proxy"]:
            return kept + parts[place:]
        at = _resource_at(kept)
        if len(kept) == at + 1 and kept[at] == "namespaces" and any(parts[place:]):
            kept.append("")
    return kept


def _collection(verb: str, params: Mapping[str, list[str]]) -> tuple[str, str]:
    """Return the verb of a request without a name in its path, and the name that its field selector requires."""
    if verb == "get":
        verb = "watch" if flag(params, "watch") else "list"
    elif verb == "delete":
        verb = "deletecollection"
    name = ""
    if verb in _COLLECTION_VERBS and (selectors := params.get("fieldSelector")):
        name = _selected_name(selectors[0])
    return verb, name


def _selected_name(selector: str) -> str:
    """Return the name that `selector` requires, or ""; the handler of the verb rejects a malformed selector."""
    try:
        name = exact_field(selector, "metadata.name")
    except StatusError:
        return ""
    return "" if path_segment(name) else name


def flag(params: Mapping[str, list[str]], name: str) -> bool:
    """Report whether a boolean parameter is given and not `0` or `false`, ignoring case (reference REQ-16)."""
    values = params.get(name)
    return values is not None and values[0].lower() not in ("0", "false")


def check_segments(info: RequestInfo) -> None:
    """Raise BadRequest (400) for a name or namespace that contains `/` or `%` or is `.` or `..` (reference REQ-9)."""
    for what, value in (("Name", info.name), ("Namespace", info.namespace)):
        if errors := path_segment(value):
            raise BadRequest(f"{what} parameter invalid: {go_quote(value)}: {';'.join(errors)}")
