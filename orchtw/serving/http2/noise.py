"""Limit on frames that cost work and carry nothing: pings, settings, resets, empty or late frames."""

from __future__ import annotations

from orchtw.serving.edge import Edge
from orchtw.serving.http2.limits import NOISE, NOISE_A_SECOND
from orchtw.serving.http2.problems import calm


class Noise:
    """Allowance of NOISE such frames at once, and NOISE_A_SECOND (reference LIMIT-22)."""

    __slots__ = ("_edge", "_heard", "_since")

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._heard = 0
        self._since = edge.now

    def heard(self, count: int = 1) -> None:
        """Count a frame, which weighs `count`. Raises ConnectionProblem beyond the limit."""
        self._heard += count
        if self._heard > NOISE:
            now = self._edge.now
            self._heard = max(0, self._heard - int((now - self._since) * NOISE_A_SECOND))
            self._since = now
            if self._heard > NOISE:
                raise calm("too many frames without effect")
