"""Cross-origin requests of browsers: preflights, and the headers that let a page see an answer (reference REQ-28)."""

from __future__ import annotations

from typing import Final

from orchtw.filters.chain import Proceed
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

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """204 for a preflight of an allowed origin; else what `proceed` answers, with the headers for its origin."""
        if self._is_preflight(request):
            return self._opened(request, Response(code=204))
        return self._opened(request, await proceed(request))

    def _is_preflight(self, request: Request) -> bool:
        asks = request.method == "OPTIONS" and "access-control-request-method" in request.headers
        return asks and self._origins.allow(request.headers.get("origin", ""))

    def _opened(self, request: Request, response: Response) -> Response:
        """The answer with the headers that let pages of the request's origin read it, if it is allowed."""
        origin = request.headers.get("origin", "")
        response.headers.append(("Vary", "Origin"))
        if self._origins.allow(origin):
            response.headers += [("Access-Control-Allow-Origin", origin), *_OPEN]
        return response
