"""Keys of tickets (reference AUTHN-53)."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.serving.session_tickets import RENEWED_S, TicketRenewal


class Tls:
    """Context that counts its renewals."""

    renewed = 0

    def renew(self) -> None:
        self.renewed += 1


class TicketRenewalTests(SynchronousTestCase):
    """Renewals that `TicketRenewal` makes."""

    def test_keys(self) -> None:
        """Other keys come every 12 hours (reference AUTHN-53)."""
        tls: Any = Tls()
        clock = Clock()
        service = TicketRenewal(tls, clock)
        service.startService()
        self.addCleanup(service.stopService)
        count = tls.renewed
        clock.advance(RENEWED_S)
        self.assertEqual(tls.renewed, count + 1)
