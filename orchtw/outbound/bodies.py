"""Bodies of responses, collected up to a limit."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import PotentialDataLoss, ResponseDone  # type: ignore[attr-defined]
from twisted.web.iweb import IResponse

from orchtw.outbound.exchange import Broken


def collected(response: IResponse, limit_bytes: int) -> Deferred[bytes]:
    """Return the body of a response. Fails with Broken; a body beyond the limit is not read to its end."""
    body = _Body(limit_bytes)
    response.deliverBody(body)  # type: ignore[no-untyped-call]
    return body.whole


class _Body(Protocol):
    """Collector of a body; cancelling `whole` ends the connection."""

    transport: Any

    def __init__(self, limit_bytes: int) -> None:
        self.whole: Deferred[bytes] = Deferred(lambda _: self.transport.loseConnection())
        self._left = limit_bytes
        self._limit = limit_bytes
        self._pieces: list[bytes] = []

    def dataReceived(self, data: bytes) -> None:
        """Collect a part of the body."""
        if self.whole.called:
            return
        self._left -= len(data)
        if self._left >= 0:
            self._pieces.append(data)
            return
        self._pieces.clear()
        self.transport.loseConnection()
        self._fail(f"the answer is longer than {self._limit} bytes")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Finish at the end of the body, or of the connection."""
        if self.whole.called:
            return
        if isinstance(reason.value, (ResponseDone, PotentialDataLoss)):
            self.whole.callback(b"".join(self._pieces))
        else:
            text = "unexpected error when reading response body. Please retry. Original error: unexpected EOF"
            self._fail(text)

    def _fail(self, why: str) -> None:
        self.whole.errback(Broken(why))
