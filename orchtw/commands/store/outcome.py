"""Outcome of a migration."""

from __future__ import annotations

import attrs


@attrs.define(slots=True)
class Migrated:
    """Numbers of objects seen, objects written, and objects that could not be written."""

    seen: int = 0
    written: int = 0
    failed: int = 0
