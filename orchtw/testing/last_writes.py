"""Text for a failed test: the last writes with their users."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.testing.control.records import RecordedWrite, writes_text

COUNT = 20
"""Writes that a report shows."""

TITLE = "orchtw: last writes"

LOOKED_AT = 10 * COUNT
"""Latest writes among which the report's are found."""

_NOISE = ("leases", "events")


def report(writes: Sequence[RecordedWrite]) -> str:
    """Return the text of the last writes, without Leases and Events."""
    return writes_text([each for each in writes if each.resource not in _NOISE][-COUNT:])


def unreadable(error: Exception) -> str:
    """Return the text for a record that could not be read, as of a server that the test has killed."""
    return f"the server's record of writes could not be read: {error}"
