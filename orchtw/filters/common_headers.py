"""Headers common to all responses."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.filters.chain import Proceed
from orchtw.filters.plan import NOTHING, Part
from orchtw.request import Request, Response
from orchtw.rules.warnings import warning_headers


class CommonHeaders:
    """Stage that adds Audit-Id, the headers set by other stages, warnings and, unless present, Cache-Control.

    `transport_security` are the directives of Strict-Transport-Security; empty: no such header (reference REQ-22).
    """

    def __init__(self, transport_security: Sequence[str] = ()) -> None:
        self._more = [("Strict-Transport-Security", "; ".join(transport_security))] if transport_security else None

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Return the response with these headers appended to its own."""
        response = await proceed(request)
        headers = response.headers
        # Looked up before headers are added that have other names: most verbs add none.
        cacheable = bool(headers) and any(name == "Cache-Control" for name, _ in headers)
        headers.append(("Audit-Id", request.audit_id))
        if request.answer_headers:
            headers += request.answer_headers
        if request.warnings:
            headers += warning_headers(request.warnings)
        if not cacheable:
            headers.append(("Cache-Control", "no-cache, private"))
        if self._more is not None:
            headers += self._more
        return response

    def plan(self, request: Request) -> Part:
        """Have the headers of the first answer repeated."""
        return NOTHING
