"""The headers that every answer has."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.filters.chain import Proceed
from orchtw.request import Request, Response
from orchtw.rules.warnings import warning_headers


class CommonHeaders:
    """Headers of every response: the audit id, those that stages have added, warnings, and Cache-Control, by default
    without caching.

    `transport_security` are the directives for browsers, none by default (reference REQ-22).
    """

    def __init__(self, transport_security: Sequence[str] = ()) -> None:
        self._more = [("Strict-Transport-Security", "; ".join(transport_security))] if transport_security else None

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
        if self._more is not None:
            headers += self._more
        return response
