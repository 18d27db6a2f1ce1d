"""Refusals of writes because of webhooks (reference HOOK-16, HOOK-20, HOOK-21)."""

from __future__ import annotations

from typing import Any, Final

from orchtw.errors import BadRequest, InternalError, StatusError, Timeout
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

LOWEST_CODE: Final = 400
HIGHEST_CODE: Final = 999


class CallingFailed(Exception):
    """Error: the call of a webhook failed, or its response is invalid; `code` is the status that it counts as."""

    def __init__(self, name: str, why: str, code: int) -> None:
        super().__init__(f"failed calling webhook {go_quote(name)}: {why}")
        self.code = code

    def refusal(self) -> InternalError:
        """Return the InternalError (500) of a webhook with failure policy Fail."""
        return InternalError.of(str(self))


class Denied(StatusError):
    """Refusal by a webhook: a Status with the code, reason and details that it gave, if any."""

    def __init__(self, name: str, given: Object | None) -> None:
        status: dict[str, Any] = given or {}
        why, reason = status.get("message"), status.get("reason") or ""
        denied = f"admission webhook {go_quote(name)} denied the request"
        text = f"{denied}: {why or reason}" if why or reason else f"{denied} without explanation"
        super().__init__(text, status.get("details"), status.get("metadata"))
        self.code: int = min(max(status.get("code", 0), LOWEST_CODE), HIGHEST_CODE)  # type: ignore[misc]
        self.reason: str = reason  # type: ignore[misc]


def no_dry_run(name: str) -> BadRequest:
    """Return the BadRequest (400) for a dry run of a webhook with side effects."""
    return BadRequest(f"admission webhook {go_quote(name)} does not support dry run")


def not_patchable(name: str) -> InternalError:
    """Return the InternalError (500) for a patch of a write without an object."""
    why = "attempted to modify the object, which is not supported for this operation"
    return InternalError.of(f"admission webhook {go_quote(name)} {why}")


def out_of_time() -> Timeout:
    """Return the Timeout (504) of a request whose time ended, or whose client left, during a call."""
    return Timeout("Timeout: request did not complete within requested timeout")
