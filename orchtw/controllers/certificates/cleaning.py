"""Cleaner of requests that are no longer needed (reference CTRL-32)."""

from __future__ import annotations

from base64 import b64decode
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509

from orchtw.client.interface import Item
from orchtw.controllers.certificates import request_state as state
from orchtw.controllers.certificates.requests import RequestController
from orchtw.controllers.controller import ControllerHost
from orchtw.errors import Conflict
from orchtw.rules.delete_options import DeleteOptions
from orchtw.wire.objects import Object

PERIOD_S: Final = 3600.0
DECIDED: Final = timedelta(hours=1)
PENDING: Final = timedelta(hours=24)
_FINAL: Final = (state.APPROVED, state.DENIED, state.FAILED)


class Cleaner(RequestController):
    """Cleaner that looks at every request once in each period."""

    name = "csrcleaner"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, 1, resync_s=PERIOD_S)

    def seen(self, old: Item | None, new: Item | None) -> None:
        """Have looked at what was there at the start, and at everything in each period; no change makes it older."""
        if old is None or old is new:
            super().seen(old, new)

    async def look_at(self, name: str, request: Object) -> None:
        """Delete one request if its time has come."""
        if past(request, datetime.fromtimestamp(self.host.now(), UTC)):
            with suppress(Conflict):  # it has changed since: the next period's
                await self.client.delete(self.requests, "", name, _as_seen(request))


def _as_seen(request: Object) -> DeleteOptions:
    meta = request["metadata"]
    return DeleteOptions(precondition_uid=meta["uid"], precondition_version=meta["resourceVersion"])


def past(request: Object, now: datetime) -> bool:
    """Report whether the request is obsolete."""
    decided = [each for each in state.conditions(request) if each.get("type") in _FINAL]
    if any(_older(each.get("lastUpdateTime"), DECIDED, now) for each in decided):
        return True
    if not decided and _older(request["metadata"].get("creationTimestamp"), PENDING, now):
        return True
    return state.has(request, state.APPROVED) and _expired(state.certificate(request), now)


def _older(stamp: str | None, age: timedelta, now: datetime) -> bool:
    return bool(stamp) and now - datetime.fromisoformat(str(stamp)) > age


def _expired(issued: str, now: datetime) -> bool:
    """Report whether the certificate has expired; an unreadable one of another signer has not."""
    if not issued:
        return False
    try:
        return x509.load_pem_x509_certificate(b64decode(issued)).not_valid_after_utc < now
    except (ValueError, x509.InvalidVersion):
        return False
