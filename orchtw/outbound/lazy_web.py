"""Late import of the web client."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final

from twisted.internet.threads import deferToThreadPool

_WEB: Final = "orchtw.outbound.web"


async def web_module(reactor: Any) -> Any:
    """Return the module `web`, imported in a thread on first use.

    The import takes longer than requests should wait, and a server without webhooks never needs it.
    """
    if _WEB not in sys.modules:
        await deferToThreadPool(reactor, reactor.getThreadPool(), import_module, _WEB)
    return import_module(_WEB)
