"""Regular expressions of clients and operators, matched by RE2: in linear time, with Go's syntax.

Loading the library would delay the start: modules that few servers need import this one late.
"""

from __future__ import annotations

from typing import Any

import re2


def options(max_bytes: int = 0, *, captures: bool = True) -> Any:
    """Return options of RE2: at most `max_bytes` for a compiled pattern (0: the library's limit), a silent log."""
    made = re2.Options()
    made.log_errors = False
    made.never_capture = not captures
    if max_bytes:
        made.max_mem = max_bytes
    return made


_PLAIN = options()


def compiled(pattern: str | bytes, chosen: Any = _PLAIN) -> Any:
    """Compile a pattern; the result has `search`. Raises ValueError with RE2's reason for one that it rejects."""
    try:
        return re2.compile(pattern, chosen)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(text) from None
