"""Errors of the server in plain text, as the reference answers before it knows what the client accepts."""

from __future__ import annotations

from typing import Final

from orchtw.filters.request_log import LONGEST
from orchtw.request import Request, Response
from orchtw.values.causes import go_quote

_SAFE: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def internal_server_error(request: Request, why: str) -> Response:
    """The 500 of what went wrong before the request was understood; nothing in it is markup (reference REQ-30)."""
    uri = f"{request.path}?{request.query}" if request.query else request.path
    text = f"Internal Server Error: {go_quote(uri[:LONGEST])}: {why}\n".translate(_SAFE)
    headers = [("X-Content-Type-Options", "nosniff")]
    return Response(code=500, content_type="text/plain; charset=utf-8", headers=headers, body=text.encode())
