"""What a migration came to."""

from __future__ import annotations

import attrs


@attrs.define(slots=True)
class Migrated:
    """How many objects there are, how many were written, and how many could not be."""

    seen: int = 0
    written: int = 0
    failed: int = 0
