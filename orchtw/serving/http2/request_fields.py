"""Heads of requests from their fields, with validation (RFC 9113 §8.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.errors import BadRequest, MethodNotAllowed, RequestEntityTooLarge, StatusError
from orchtw.request import Peer, Request
from orchtw.serving.http2.field_decoder import Field
from orchtw.serving.http2.problems import Malformed
from orchtw.serving.limits import FREE_BYTES, PARAMETERS, EdgeLimits, ExpectationFailed
from orchtw.serving.request_parser import check_headers, check_target, split_target

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
_PSEUDO: Final = frozenset({":method", ":scheme", ":authority", ":path"})
# They are about HTTP/1's connections.
_OF_CONNECTIONS: Final = ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade")
_TARGET = re.compile(r"[!-~]+")
_WORD = re.compile(r"[A-Z]+")
_DIGITS = re.compile(r"[0-9]{1,15}")


class RequestHead(msgspec.Struct, frozen=True):
    """A request without its body; `declared` is the length of the body (None: unknown), sent after a 100 if the
    client `expects` one. `size` is that of the fields. A `refusal` is the response, whatever else comes.
    """

    request: Request
    size: int
    declared: int | None
    expects: bool
    refusal: StatusError | None


def head_of(fields: Sequence[Field], size: int, peer: Peer, limits: EdgeLimits) -> RequestHead:
    """Parse the fields, which take `size` bytes. Raises Malformed."""
    pseudo: dict[str, str] = {}
    headers: dict[str, str] = {}
    repeated: dict[str, list[str]] | None = None
    for name, value, sound in fields:
        if not sound:
            raise Malformed
        if name[0] == ":":
            if headers or name in pseudo or name not in _PSEUDO:
                raise Malformed
            pseudo[name] = value
        elif name in headers:
            if repeated is None:
                repeated = {}
            repeated.setdefault(name, [headers[name]]).append(value)
        else:
            headers[name] = value
    if repeated is not None:
        _join(headers, repeated)
    _check(headers)
    method = pseudo.get(":method", "")
    target = pseudo.get(":path", "")
    if not method or (method != "CONNECT" and not (target and pseudo.get(":scheme"))):
        raise Malformed
    headers["host"] = pseudo.get(":authority") or headers.get("host", "")
    path, query = split_target(target)
    request = Request(
        method=method, path=path, query=query, headers=headers, repeated=repeated, peer=peer
    )
    declared = _declared(headers)
    refusal = _refusal(method, target, headers, size)
    if refusal is None and declared is not None and declared > limits.body_bytes:
        refusal = RequestEntityTooLarge.limit(limits.body_bytes)
    expects = "expect" in headers
    if expects and headers["expect"].lower() != "100-continue":
        refusal = refusal or ExpectationFailed(f"expectation {headers['expect'][:100]!r} cannot be met")
    return RequestHead(request, size, declared, expects, refusal)


def check_trailers(fields: Sequence[Field]) -> None:
    """Check trailers, which are otherwise ignored. Raises Malformed."""
    if any(not sound or name[0] == ":" for name, _, sound in fields):
        raise Malformed


def _join(headers: dict[str, str], repeated: dict[str, list[str]]) -> None:
    if "host" in repeated or "content-length" in repeated:
        raise Malformed
    for name, texts in repeated.items():
        headers[name] = ("; " if name == "cookie" else ", ").join(texts)


def _check(headers: dict[str, str]) -> None:
    for name in _OF_CONNECTIONS:
        if name in headers:
            raise Malformed
    if "te" in headers and headers["te"].lower() != "trailers":
        raise Malformed


def _declared(headers: dict[str, str]) -> int | None:
    text = headers.get("content-length")
    if text is None:
        return None
    if _DIGITS.fullmatch(text) is None:
        raise Malformed
    return int(text)


def _refusal(method: str, target: str, headers: dict[str, str], size: int) -> StatusError | None:
    if method not in _METHODS:
        known = _WORD.fullmatch(method)
        return MethodNotAllowed() if known else BadRequest("malformed HTTP request: Invalid method encountered")
    if target[0] != "/" and not (target == "*" and method == "OPTIONS"):
        return BadRequest("malformed HTTP request: Unexpected start char in url")
    if _TARGET.fullmatch(target) is None:
        return BadRequest("malformed HTTP request: Invalid char in url")
    refusal = check_target(target.encode("ascii")) if len(target) > PARAMETERS else None
    return refusal or (check_headers(headers) if size > FREE_BYTES else None)
