"""What an authorizer is and what it answers (seed 2 §5.8, supplement Z1)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

import attrs

from orchtw.request import RequestInfo, UserInfo


@attrs.frozen(slots=True)
class Decision:
    """`allowed` True or False decides; None is no opinion, so the next authorizer is asked.

    `reason` goes to the audit log and, on a refusal, to the user.
    """

    allowed: bool | None
    reason: str = ""


ALLOWED, NO_OPINION = Decision(True), Decision(None)


class Authorizer(Protocol):
    """One mode of `--authorization-mode`."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Whether the user may do this; at once where it can be told, else an awaitable of the answer."""
