"""Outcome of a migration."""

from __future__ import annotations

import attrs


@attrs.define(slots=True)
class Migrated:
    """Number of objects seen, rewritten, and failed to be rewritten."""

    seen: int = 0
    written: int = 0
    failed: int = 0
