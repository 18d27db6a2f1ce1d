"""Web origins that may use the API from a browser (reference REQ-28)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from orchtw.values.patterns import compiled

# Characters of the longest origin that is matched: a scheme, a host name of 253 characters and a port fit.
LONGEST_ORIGIN: Final = 512
_HTTPS_PORT: Final = 443


class AllowedOrigins:
    """The origins of `--cors-allowed-origins`: regular expressions that may match anywhere in an origin.

    Raises ValueError for a malformed expression.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns: tuple[Any, ...] = ()
        if patterns := tuple(patterns):
            self._patterns = tuple(map(compiled, patterns))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def allow(self, origin: str) -> bool:
        """Report whether an expression matches; several origins in one header match nothing."""
        if not origin or len(origin) > LONGEST_ORIGIN or "," in origin:
            return False
        return any(pattern.search(origin) for pattern in self._patterns)


def same_origin(origin: str, host: str) -> bool:
    """Report whether `origin` is the HTTPS origin of the server that the Host header `host` names."""
    if len(origin) > LONGEST_ORIGIN:
        return False
    try:
        page, server = urlsplit(origin), urlsplit(f"https://{host}")
        pair = (page.hostname, page.port or _HTTPS_PORT), (server.hostname, server.port or _HTTPS_PORT)
    except ValueError:
        return False
    return page.scheme == "https" and bool(page.hostname) and pair[0] == pair[1]
