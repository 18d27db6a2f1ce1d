"""Reset of a connection in place of the answer to a request, by whatever serves the request."""

from __future__ import annotations

from twisted.internet.defer import CancelledError


class ConnectionReset(CancelledError):
    """Error: the connection is to be reset, and the request has no answer.

    It passes the stages as the cancellation of a request does whose client has left, which is what they record.
    """
