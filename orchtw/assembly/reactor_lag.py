"""For how long what is ready waits for the reactor (reference METRIC-7)."""

from __future__ import annotations

from typing import Final

from twisted.application.service import Service
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchtw.metrics.series import Histogram

INTERVAL_S: Final = 0.1
BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


class ReactorLag(Service):
    """Looks ten times a second how late a timer comes, which is how late everything comes at that moment."""

    def __init__(self, clock: IReactorTime) -> None:
        self.seconds = Histogram(BOUNDS_S)
        self._clock = clock
        self._call: IDelayedCall | None = None

    def startService(self) -> None:
        """Begin to measure the lag."""
        super().startService()  # type: ignore[no-untyped-call]
        self._again()

    def stopService(self) -> None:
        """Stop measuring the lag."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _again(self) -> None:
        self._call = self._clock.callLater(INTERVAL_S, self._look, self._clock.seconds() + INTERVAL_S)

    def _look(self, due: float) -> None:
        self.seconds.observe(max(0.0, self._clock.seconds() - due))
        self._again()
