"""One log line per request, for `-v 3` and more (supplement G8)."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.request import Request, Response

VERBOSITY = 3
"""The least `-v` that logs requests."""


class RequestLog:
    """Writes the lines; queries may hold tokens of other systems, so only the path is shown of a non-resource URL."""

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock

    def now(self) -> float:
        """Seconds on the clock that latencies are measured with."""
        return self._clock.seconds()

    def answered(self, request: Request, response: Response, began: float) -> None:
        """A request has its answer; a stream's line is written when it begins."""
        info = request.info
        uri = f"{request.path}?{request.query}" if request.query and info and info.is_resource else request.path
        self._log.info(
            'HTTP verb="{verb}" URI="{uri}" latency="{latency:.3f}ms" userAgent="{agent}" '
            'audit-ID="{audit_id}" srcIP="{address}:{port}" resp={code}',
            verb=request.method,
            uri=uri,
            latency=(self._clock.seconds() - began) * 1000,
            agent=request.headers.get("user-agent", ""),
            audit_id=request.audit_id,
            address=request.peer.address,
            port=request.peer.port,
            code=response.code,
        )
