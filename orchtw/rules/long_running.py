"""Which requests may take as long as they like (reference LIMIT-3)."""

from __future__ import annotations

from typing import Final

from orchtw.request import RequestInfo

VERBS: Final = frozenset({"watch", "proxy"})
SUBRESOURCES: Final = frozenset({"attach", "exec", "proxy", "log", "portforward"})
PREFIX: Final = "/debug/pprof/"


def long_running(info: RequestInfo) -> bool:
    """Whether this is a stream, or something that others answer for as long as they want."""
    if info.is_resource:
        return info.subresource in SUBRESOURCES or info.verb in VERBS
    return info.path.startswith(PREFIX)
