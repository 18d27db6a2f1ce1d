"""First stage: what does the request ask for (seed 1 §4.2)?"""

from __future__ import annotations

from orchtw.request import Request, Response
from orchtw.rules.request_info import parse


class RequestInfoStage:
    """Fills in `request.info`."""

    async def handle(self, request: Request) -> Response | None:
        """Read method, path and query; nothing is refused here."""
        request.info = parse(request.method, request.path, request.params)
        return None
