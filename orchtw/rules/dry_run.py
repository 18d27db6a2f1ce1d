"""Option dryRun of creates, updates, patches and deletes (reference WRITE-20)."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.values.causes import not_supported


def is_dry_run(values: list[str], causes: list[Cause]) -> bool:
    """Report whether dryRun asks for a dry run, and add the cause of a bad value to `causes`."""
    given = [value for value in values if value]
    if any(value != "All" for value in given):
        causes.append(not_supported("dryRun", given, ("All",)))
    return bool(given)
