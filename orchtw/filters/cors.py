"""Cross-origin requests of browsers: preflights, and the headers that let a page see an answer (supplement C3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from orchtw.request import Request, Response
from orchtw.rules.origins import AllowedOrigins

METHODS: Final = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
HEADERS: Final = (
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
)
_OPEN: Final = (
    ("Access-Control-Allow-Methods", METHODS),
    ("Access-Control-Allow-Headers", HEADERS),
    ("Access-Control-Expose-Headers", "Date"),
    ("Access-Control-Allow-Credentials", "true"),
)


class CORS:
    """Stands before everything else: a preflight has no credentials, and a page is to see refusals as well."""

    def __init__(self, origins: AllowedOrigins) -> None:
        self._origins = origins

    async def handle(self, request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        """204 for a preflight of an allowed origin; else what `proceed` answers, with the headers for its origin."""
        origin = request.headers.get("origin", "")
        allowed = self._origins.allow(origin)
        if allowed and request.method == "OPTIONS" and "access-control-request-method" in request.headers:
            response = Response(code=204)
        else:
            response = await proceed(request)
        response.headers.append(("Vary", "Origin"))
        if allowed:
            response.headers += [("Access-Control-Allow-Origin", origin), *_OPEN]
        return response
