"""The headers that every answer has."""

from __future__ import annotations

from orchtw.filters.chain import Proceed
from orchtw.request import Request, Response
from orchtw.rules.warnings import warning_headers


class CommonHeaders:
    """The audit id, what stages have put on it, the warnings that came up on the way, and who may keep a copy: by
    default nobody.
    """

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """The answer with these headers behind its own."""
        response = await proceed(request)
        headers = response.headers
        headers.append(("Audit-Id", request.audit_id))
        if request.answer_headers:
            headers += request.answer_headers
        if request.warnings:
            headers += warning_headers(request.warnings)
        if not any(name == "Cache-Control" for name, _ in headers):
            headers.append(("Cache-Control", "no-cache, private"))
        return response
