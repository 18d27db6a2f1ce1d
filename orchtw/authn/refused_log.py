"""Log of rejected credentials: the reasons without secrets, rate-limited because any client can cause lines."""

from __future__ import annotations

from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.request import Request
from orchtw.values.causes import go_quote

LINES: Final = 10
"""Most lines written per WINDOW_S; further rejections are only counted."""

WINDOW_S: Final = 10.0


class RefusedLog:
    """Log of the reasons of 401 responses, for the operator: clients are not told."""

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._until = 0.0
        self._written = self._dropped = 0

    def refused(self, request: Request, reasons: list[str]) -> None:
        """Log a request whose credentials were invalid, or missing while anonymous requests are off."""
        peer = request.peer
        if not self._may_write():
            self._dropped += 1
            return
        why = "; ".join(dict.fromkeys(reason for reason in reasons if reason)) or "no credentials"
        self._log.info(
            "refused with 401: {why} (from {address}:{port}, {method} {path})",
            why=why,
            address=peer.address,
            port=peer.port,
            method=request.method,
            path=go_quote(request.path),
        )

    def _may_write(self) -> bool:
        now = self._clock.seconds()
        if now >= self._until:
            if self._dropped:
                self._log.info("refused with 401: {count} more requests", count=self._dropped)
            self._until, self._written, self._dropped = now + WINDOW_S, 0, 0
        self._written += 1
        return self._written <= LINES
