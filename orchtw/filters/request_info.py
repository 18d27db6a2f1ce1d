"""Request info: verb, resource and scope from the method, path and query (reference REQ-4, REQ-11)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from orchtw.filters.chain import Proceed
from orchtw.filters.plan import LEFT_OUT, NOTHING, Part, Short
from orchtw.request import Request, Response
from orchtw.rules.request_info import PASSED_ON, parse


class RequestInfoStage:
    """Stage that fills in `request.info` and `request.passed_on`.

    With the feature gate ServerSideFieldValidation off (`checks_fields`), `fieldValidation` is ignored.
    """

    def __init__(self, *, checks_fields: bool = True) -> None:
        self._checks_fields = checks_fields

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Parse the method, path and query. Rejects no request."""
        info = request.info = parse(request.method, request.path, request.params)
        if info.subresource:
            request.passed_on = info.subresource in PASSED_ON
        if not self._checks_fields:
            request.fields_unchecked = True
        return proceed(request)

    def plan(self, request: Request) -> Part:
        """Add nothing: paths that differ in an object's name are read alike."""
        return NOTHING

    def shorten(self, request: Request) -> Short:
        """Leave the description to the short line, which knows what differs."""
        return LEFT_OUT if self._checks_fields else Short(fill=_uncheck)


def _uncheck(request: Request) -> None:
    request.fields_unchecked = True
