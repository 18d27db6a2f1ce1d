"""CORS: preflight requests, and the headers that let a page read a response (reference REQ-28)."""

from __future__ import annotations

from typing import Final

from orchtw.filters.chain import Proceed
from orchtw.filters.plan import NOTHING, Part
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
    """Outermost stage: preflights carry no credentials, and pages must be able to read error responses too."""

    def __init__(self, origins: AllowedOrigins) -> None:
        self._origins = origins

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Return 204 for a preflight from an allowed origin, else the response of `proceed` with CORS headers."""
        if self._is_preflight(request):
            return self._opened(request, Response(code=204))
        return self._opened(request, await proceed(request))

    def plan(self, request: Request) -> Part:
        """Have the headers of the first answer repeated: equal requests are of one origin."""
        return NOTHING

    def _is_preflight(self, request: Request) -> bool:
        asks = request.method == "OPTIONS" and "access-control-request-method" in request.headers
        return asks and self._origins.allow(request.headers.get("origin", ""))

    def _opened(self, request: Request, response: Response) -> Response:
        """Add Vary, and the CORS headers if the request's origin is allowed; return the response."""
        origin = request.headers.get("origin", "")
        response.headers.append(("Vary", "Origin"))
        if self._origins.allow(origin):
            response.headers += [("Access-Control-Allow-Origin", origin), *_OPEN]
        return response
