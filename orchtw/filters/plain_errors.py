"""Plain-text server errors, for failures before content negotiation."""

from __future__ import annotations

from typing import Final

from orchtw.filters.request_log import LONGEST
from orchtw.request import Request, Response
from orchtw.values.causes import go_quote

_SAFE: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def internal_server_error(request: Request, why: str) -> Response:
    """Return a plain-text 500 that names the URI and `why`, with HTML metacharacters escaped (reference REQ-30)."""
    uri = f"{request.path}?{request.query}" if request.query else request.path
    text = f"Internal Server Error: {go_quote(uri[:LONGEST])}: {why}\n".translate(_SAFE)
    headers = [("X-Content-Type-Options", "nosniff")]
    return Response(code=500, content_type="text/plain; charset=utf-8", headers=headers, body=text.encode())
