"""Periodic renewal of the keys of TLS session tickets (reference AUTHN-53)."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from orchtw.pki.timer import Timer
from orchtw.serving.tls_context import ServingTLS

RENEWED_S = 12 * 3600.0
"""Seconds between renewals: keys stolen today do not decrypt sessions of last week."""


class TicketRenewal(Timer):
    """Timer that gives `tls` new keys every RENEWED_S."""

    def __init__(self, tls: ServingTLS, clock: IReactorTime) -> None:
        super().__init__(RENEWED_S, tls.renew, clock)
