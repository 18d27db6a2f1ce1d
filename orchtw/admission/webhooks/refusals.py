"""Refusals that webhooks are the reason of (reference HOOK-16, HOOK-20, HOOK-21)."""

from __future__ import annotations

from typing import Any, Final

from orchtw.errors import BadRequest, InternalError, StatusError, Timeout
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

LOWEST_CODE: Final = 400
HIGHEST_CODE: Final = 999


class CallingFailed(Exception):
    """Error: a webhook could not be called, or its response is invalid: `why`; `code` is its status."""

    def __init__(self, name: str, why: str, code: int) -> None:
        super().__init__(f"failed calling webhook {go_quote(name)}: {why}")
        self.code = code

    def refusal(self) -> InternalError:
        """The 500 of a webhook that must be asked."""
        return InternalError.of(str(self))


class Denied(StatusError):
    """A webhook has said no: a Status with the code, the reason and the details that it gave, if any."""

    def __init__(self, name: str, given: Object | None) -> None:
        status: dict[str, Any] = given or {}
        why, reason = status.get("message"), status.get("reason") or ""
        denied = f"admission webhook {go_quote(name)} denied the request"
        text = f"{denied}: {why or reason}" if why or reason else f"{denied} without explanation"
        super().__init__(text, status.get("details"), status.get("metadata"))
        self.code: int = min(max(status.get("code", 0), LOWEST_CODE), HIGHEST_CODE)  # type: ignore[misc]
        self.reason: str = reason  # type: ignore[misc]


def no_dry_run(name: str) -> BadRequest:
    """The 400 of a webhook that may have effects which nobody takes back."""
    return BadRequest(f"admission webhook {go_quote(name)} does not support dry run")


def not_patchable(name: str) -> InternalError:
    """The 500 of a patch where there is no object."""
    why = "attempted to modify the object, which is not supported for this operation"
    return InternalError.of(f"admission webhook {go_quote(name)} {why}")


def out_of_time() -> Timeout:
    """The 504 of a request whose time is over, or whose client has left, while a webhook is called."""
    return Timeout("Timeout: request did not complete within requested timeout")
