"""Long-running requests, which are exempt from the request timeout (reference LIMIT-3)."""

from __future__ import annotations

from typing import Final

from orchtw.request import RequestInfo

VERBS: Final = frozenset({"watch", "proxy"})
SUBRESOURCES: Final = frozenset({"attach", "exec", "proxy", "log", "portforward"})
PREFIXES: Final = ("/debug/pprof/", "/debug/history")


def long_running(info: RequestInfo) -> bool:
    """Report whether a request is long-running: a stream, a proxied request, a profile or a record."""
    if info.is_resource:
        return info.subresource in SUBRESOURCES or info.verb in VERBS
    return info.path.startswith(PREFIXES)
