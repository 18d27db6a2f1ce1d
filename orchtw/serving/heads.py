"""Response heads: status line and headers as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from time import gmtime

REASONS = {status.value: status.phrase for status in HTTPStatus}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# Codes whose responses have no body and no Content-Length (RFC 9110 §8.6).
BODILESS = frozenset({100, 101, 204, 304})
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def http_date(seconds: float) -> str:
    """Return the Date header of a time in seconds since the epoch (RFC 9110 §5.6.7), independent of the locale."""
    t = gmtime(seconds)
    return (
        f"{_DAYS[t.tm_wday]}, {t.tm_mday:02} {_MONTHS[t.tm_mon - 1]} {t.tm_year} "
        f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02} GMT"
    )


def head(code: int, content_type: str, headers: Sequence[tuple[str, str]], framing: str) -> bytes:
    """Return a whole response head. `framing` is ready-made lines: Date, Content-Length, Connection and the like.

    Raises ValueError for a header with a line break in it, which would let a caller write headers of its own.
    """
    lines = f"HTTP/1.1 {code} {REASONS.get(code, 'Unknown')}\r\n{framing}"
    expected = 1 + framing.count("\n")
    if content_type:
        lines += f"Content-Type: {content_type}\r\n"
        expected += 1
    for name, value in headers:
        lines += f"{name}: {value}\r\n"
    if headers or content_type:
        expected += len(headers)
        if lines.count("\n") != expected or lines.count("\r") != expected:
            raise ValueError("a response header contains a line break")
    return f"{lines}\r\n".encode("latin-1", "replace")
