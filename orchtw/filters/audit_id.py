"""The id under which a request is found again: in its answer, in the log, in the audit (reference REQ-22)."""

from __future__ import annotations

import os
import re
from collections.abc import Coroutine
from typing import Any

from orchtw.filters.chain import Proceed
from orchtw.request import Request, Response
from orchtw.values.uuids import SIZE, uuid_text

LONGEST = 256
"""Characters; clients send UUIDs of 36."""

# What can stand in a header and in a line of a log without being taken for something else.
_PLAIN = re.compile(rf"[!#-\[\]-~]{{1,{LONGEST}}}")


def audit_id(asked: str) -> str:
    """The id that the client asks for, never cut short, or a new one.

    One that is longer than LONGEST or has spaces, quotes, backslashes or anything but visible ASCII is not taken.
    """
    return asked if asked and _PLAIN.fullmatch(asked) else uuid_text(os.urandom(SIZE))


class AuditIdStage:
    """Stage that fills in `request.audit_id`."""

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Take the client's id if it can be used, or a new one."""
        request.audit_id = audit_id(request.headers.get("audit-id", ""))
        return proceed(request)
