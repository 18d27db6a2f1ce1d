"""Metrics kept by the store's threads (reference METRIC-7); all others only read them."""

from __future__ import annotations

from typing import Final

import attrs

from orchtw.metrics.series import Histogram, doubling

_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


def _durations() -> Histogram:
    return Histogram(_SECONDS)


@attrs.frozen(slots=True, eq=False)
class Measured:
    """Sizes of batches, and the seconds of commits, of truncations of the log, and of background slices.

    `checkpoints` has the passes of the thread beside the writer, which alone adds to it.
    """

    batches: Histogram = attrs.field(factory=lambda: Histogram(doubling(1, 9)))
    commits: Histogram = attrs.field(factory=_durations)
    cuts: Histogram = attrs.field(factory=_durations)
    checkpoints: Histogram = attrs.field(factory=_durations)
    slices: Histogram = attrs.field(factory=_durations)
