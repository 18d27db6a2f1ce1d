"""Settings of the record of writes."""

from __future__ import annotations

from orchtw.config.about import about
from orchtw.config.subjects import options, setting
from orchtw.flags.flag import BOOLEAN, INTEGER


@options
class HistoryOptions:
    """Options of the record of writes, which `/debug/history` shows."""

    enabled: bool = setting(
        default=False,
        metadata=about(
            "Debugging",
            "Record every write with its user and serve the record under /debug/history to users who are "
            "authorized to read it; not together with --workers.",
            BOOLEAN,
            flag="enable-history",
        ),
    )
    max_bytes: int = setting(
        default=64 << 20,
        metadata=about(
            "Debugging", "Maximum number of bytes for recorded writes; the oldest are dropped first.", INTEGER
        ),
    )
