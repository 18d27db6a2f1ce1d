"""Regular expressions of settings, matched by RE2: in linear time, with the syntax of the release (Go)."""

from __future__ import annotations

from typing import Any


def compiled(pattern: str) -> Any:
    """Compile a pattern; the result has `search`. Raises ValueError with the reason for one that is malformed."""
    import re2  # few servers have such a setting: the others start without the library

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise ValueError(reason.decode() if isinstance(reason, bytes) else str(reason)) from None
