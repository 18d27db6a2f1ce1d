"""Negotiation applied to requests: which form does this answer take (reference ENC-2)?"""

from __future__ import annotations

from orchtw.errors import StatusError
from orchtw.request import Request, RequestInfo, Response
from orchtw.responses.representation import Representations
from orchtw.rules.negotiation import Negotiated, Negotiator, wants_pretty


class Acceptance:
    """Reads the Accept header, the `pretty` parameter and the user agent."""

    def __init__(self, negotiator: Negotiator, representations: Representations) -> None:
        self._negotiator = negotiator
        self._representations = representations

    def of(self, request: Request, info: RequestInfo, *, protobuf: bool = True) -> Negotiated:
        """The form of the answer to a resource request; `protobuf` False: its kind has no such form.

        Raises NotAcceptable (406).
        """
        headers = request.headers
        return self._negotiator.accept(
            headers.get("accept", ""),
            watch=info.verb == "watch",
            protobuf=protobuf,
            pretty=wants_pretty(request.params, headers.get("user-agent", "")),
        )

    def any(self, request: Request) -> Negotiated:
        """The form of what this server says itself where another one answers in what form it likes."""
        return self._negotiator.status(request.headers.get("accept", ""))

    def plain(self, request: Request) -> Negotiated:
        """The form of an answer that is never a Table or partial metadata; raises NotAcceptable (406)."""
        headers = request.headers
        pretty = wants_pretty(request.params, headers.get("user-agent", ""))
        return self._negotiator.accept(headers.get("accept", ""), transforms=False, pretty=pretty)

    def refusal(self, request: Request, error: StatusError) -> Response:
        """The Status answer to a request that is refused, in a form that the client can read."""
        headers = request.headers
        pretty = wants_pretty(request.params, headers.get("user-agent", ""))
        accept = self._negotiator.status(headers.get("accept", ""), pretty=pretty)
        return self._representations.refusal(error, accept)
