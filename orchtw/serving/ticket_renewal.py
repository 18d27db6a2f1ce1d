"""Other keys for the tickets of TLS sessions, from time to time (reference AUTHN-53)."""

from __future__ import annotations

from twisted.application.internet import TimerService
from twisted.internet.interfaces import IReactorTime

from orchtw.serving.tls_context import ServingTLS

RENEWED_S = 12 * 3600.0
"""How often: who steals the keys of today reads no session of last week."""


class TicketRenewal(TimerService):
    """Gives `tls` other keys every RENEWED_S."""

    def __init__(self, tls: ServingTLS, clock: IReactorTime) -> None:
        super().__init__(RENEWED_S, tls.renew)  # type: ignore[no-untyped-call]
        self.clock = clock
