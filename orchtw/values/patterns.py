"""Regular expressions of clients and operators, matched by RE2: in linear time, with Go's syntax.

The library is loaded with the first pattern: it takes 2 MiB and some milliseconds, and many servers never see one.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _options(max_bytes: int, captures: bool) -> Any:
    import re2

    made = re2.Options()
    made.log_errors = False
    made.never_capture = not captures
    if max_bytes:
        made.max_mem = max_bytes
    return made


def compiled(pattern: str | bytes, max_bytes: int = 0, *, captures: bool = True) -> Any:
    """Compile a pattern to at most `max_bytes` (0: the library's limit); the result has `search`.

    Raises ValueError with RE2's reason for a pattern that it rejects.
    """
    import re2

    try:
        return re2.compile(pattern, _options(max_bytes, captures))
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(text) from None
