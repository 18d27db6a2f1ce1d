"""Panic recovery: exceptions become responses, a refusal its Status, a fault of the server a 500."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from orchtw.errors import InternalError, StatusError
from orchtw.filters.chain import Proceed
from orchtw.filters.request_log import shown
from orchtw.request import Request, Response

_FAULT: Final = b"This request caused apiserver to panic. Look in the logs for details.\n"


class Refusals:
    """Only cancellation comes out of it as an exception.

    `refuse` makes a response of a StatusError in the format that the request accepts.
    """

    _log = Logger()

    def __init__(self, refuse: Callable[[Request, StatusError], Response]) -> None:
        self._refuse = refuse

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """A fault is logged with its traceback, under the audit id of the answer, which shows no more of it
        (reference REQ-30); without memory it is a refusal (reference ERR-41).
        """
        try:
            return await proceed(request)
        except StatusError as error:
            return self._refuse(request, error)
        except CancelledError:
            raise
        except MemoryError:
            # No traceback: it costs memory, and says where memory ran out rather than what took it.
            self._log.error("request {audit_id} got no memory: {method} {path}", audit_id=request.audit_id,
                            method=request.method, path=shown(request.path))
        except Exception:
            self._log.failure("request {audit_id} failed: {method} {path}", audit_id=request.audit_id,
                              method=request.method, path=shown(request.path))
            headers = [("X-Content-Type-Options", "nosniff")]
            return Response(code=500, content_type="text/plain; charset=utf-8", body=_FAULT, headers=headers)
        return self._refuse(request, InternalError.no_memory())
