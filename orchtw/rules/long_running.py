"""Which requests may take as long as they like (reference LIMIT-3)."""

from __future__ import annotations

from typing import Final

from orchtw.request import RequestInfo

VERBS: Final = frozenset({"watch", "proxy"})
SUBRESOURCES: Final = frozenset({"attach", "exec", "proxy", "log", "portforward"})
PREFIX: Final = "/debug/pprof/"


def long_running(info: RequestInfo) -> bool:
    """Report whether a request is a stream, or answered by another server without a time limit."""
    if info.is_resource:
        return info.subresource in SUBRESOURCES or info.verb in VERBS
    return info.path.startswith(PREFIX)
