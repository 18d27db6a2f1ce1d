"""Metrics kept by the store's threads (reference METRIC-7); all others only read them."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.metrics.series import Histogram, doubling

_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


def _durations() -> Histogram:
    return Histogram(_SECONDS)


class Measured(msgspec.Struct, frozen=True, eq=False):
    """Sizes of batches, and the seconds of commits, of truncations of the log, and of background slices.

    `checkpoints` has the passes of the thread beside the writer, which alone adds to it.
    """

    batches: Histogram = msgspec.field(default_factory=lambda: Histogram(doubling(1, 9)))
    commits: Histogram = msgspec.field(default_factory=_durations)
    cuts: Histogram = msgspec.field(default_factory=_durations)
    checkpoints: Histogram = msgspec.field(default_factory=_durations)
    slices: Histogram = msgspec.field(default_factory=_durations)
