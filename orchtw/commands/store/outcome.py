"""Outcome of a migration."""

from __future__ import annotations

import msgspec


class Migrated(msgspec.Struct):
    """Number of objects seen, rewritten, and failed to be rewritten."""

    seen: int = 0
    written: int = 0
    failed: int = 0
