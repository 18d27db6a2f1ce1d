"""What does the request ask for (reference REQ-4, REQ-11)?"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from orchtw.filters.chain import Proceed
from orchtw.request import Request, Response
from orchtw.rules.request_info import PASSED_ON, parse


class RequestInfoStage:
    """Fills in `request.info`, and whether the request is passed on.

    Unless the gate ServerSideFieldValidation is on (`checks_fields`), `fieldValidation` means nothing.
    """

    def __init__(self, *, checks_fields: bool = True) -> None:
        self._checks_fields = checks_fields

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Read method, path and query; nothing is refused here."""
        info = request.info = parse(request.method, request.path, request.params)
        if info.subresource:
            request.passed_on = info.subresource in PASSED_ON
        if not self._checks_fields:
            request.fields_unchecked = True
        return proceed(request)
