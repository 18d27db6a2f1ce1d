"""Panic recovery: a StatusError becomes its Status response, any other exception a 500."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from orchtw.errors import InternalError, StatusError
from orchtw.filters.chain import Proceed
from orchtw.filters.plan import NOTHING, Part
from orchtw.filters.request_log import shown
from orchtw.request import Request, Response

_FAULT: Final = b"This request caused apiserver to panic. Look in the logs for details.\n"


class PanicRecovery:
    """Stage that turns every exception except CancelledError into a response.

    `refuse` encodes a StatusError in the format that the request accepts.
    """

    _log = Logger()

    def __init__(self, refuse: Callable[[Request, StatusError], Response]) -> None:
        self._refuse = refuse

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Return the response of `proceed`, or that of its exception.

        An unexpected exception is logged with its traceback under the audit id; the 500 shows no details (reference
        REQ-30). Running out of memory becomes a Status (reference ERR-41).
        """
        try:
            return await proceed(request)
        except StatusError as error:
            return self._refuse(request, error)
        except CancelledError:
            raise
        except MemoryError:
            # No traceback: it costs memory, and shows where memory ran out, not what used it.
            self._log.error("request {audit_id} ran out of memory: {method} {path}", audit_id=request.audit_id,
                            method=request.method, path=shown(request.path))
        except Exception:
            self._log.failure("request {audit_id} failed: {method} {path}", audit_id=request.audit_id,
                              method=request.method, path=shown(request.path))
            headers = [("X-Content-Type-Options", "nosniff")]
            return Response(code=500, content_type="text/plain; charset=utf-8", body=_FAULT, headers=headers)
        return self._refuse(request, InternalError.no_memory())

    def plan(self, request: Request) -> Part:
        """Add nothing: refusals go the whole way."""
        return NOTHING
