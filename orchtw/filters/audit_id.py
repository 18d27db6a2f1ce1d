"""Audit id: identifies a request in its response, the log and the audit events (reference REQ-22)."""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import Any

from orchtw.filters.chain import Proceed
from orchtw.filters.plan import NOTHING, Part, Short
from orchtw.request import Request, Response
from orchtw.values.uuids import new_uuid

LONGEST = 256
"""Maximum length of a client's audit id in characters; a UUID has 36."""

# Safe in a header and unambiguous in a log line.
_PLAIN = re.compile(rf"[!#-\[\]-~]{{1,{LONGEST}}}")


def audit_id(asked: str) -> str:
    """Return the id that the client sent, or a new UUID if it is missing or unusable; an id is never truncated.

    An id longer than LONGEST, or with spaces, quotes, backslashes or anything but visible ASCII, is unusable.
    """
    return asked if asked and _PLAIN.fullmatch(asked) else new_uuid()


class AuditIdStage:
    """Stage that fills in `request.audit_id`."""

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Set the audit id from the Audit-ID header, or generate one."""
        request.audit_id = audit_id(request.headers.get("audit-id", ""))
        return proceed(request)

    def plan(self, request: Request) -> Part:
        """Leave it to the plan to make new ids; clients that send their own have none."""
        return NOTHING

    def shorten(self, request: Request) -> Short:
        """Make new ids, as in plans."""
        return _NEW


def _give(request: Request) -> None:
    request.audit_id = new_uuid()


_NEW = Short(fill=_give)
