"""Content negotiation of requests: the form of a response (reference ENC-2)."""

from __future__ import annotations

from orchtw.errors import StatusError
from orchtw.request import Request, RequestInfo, Response
from orchtw.responses.representation import Representations
from orchtw.rules.negotiation import Negotiated, Negotiator, wants_pretty


class Acceptance:
    """Negotiation by the Accept header, the `pretty` parameter and the user agent."""

    def __init__(self, negotiator: Negotiator, representations: Representations) -> None:
        self._negotiator = negotiator
        self._representations = representations

    def of(self, request: Request, info: RequestInfo, *, protobuf: bool = True) -> Negotiated:
        """Return the form of the response to a resource request; `protobuf` False: its kind has no such form.

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
        """Return the form of this server's own messages on paths where another server chooses the form."""
        return self._negotiator.status(request.headers.get("accept", ""))

    def plain(self, request: Request) -> Negotiated:
        """Return the form of a response that is never a Table or partial metadata. Raises NotAcceptable (406)."""
        headers = request.headers
        pretty = wants_pretty(request.params, headers.get("user-agent", ""))
        return self._negotiator.accept(headers.get("accept", ""), transforms=False, pretty=pretty)

    def refusal(self, request: Request, error: StatusError) -> Response:
        """Return the Status response to a rejected request, in a form that the client can read."""
        headers = request.headers
        pretty = wants_pretty(request.params, headers.get("user-agent", ""))
        accept = self._negotiator.status(headers.get("accept", ""), pretty=pretty)
        return self._representations.refusal(error, accept)
