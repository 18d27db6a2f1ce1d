"""Audit of failed authentication (reference AUDIT-5)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.failed_authentication import attempts
from orchtw.request import UNREADABLE, Peer, Request


def request(query: str = "", certificate: Any = None, **headers: str) -> Request:
    peer = Peer(address="10.0.0.9", port=1, certificate=certificate)
    return Request(method="GET", path="/x", query=query, headers=headers, peer=peer)


class FailedAuthenticationTests(SynchronousTestCase):
    """Description of the credentials that failed (`attempts`)."""

    def test_attempts(self) -> None:
        """The event names the methods of the shown credentials, never the credentials."""
        attempted = "Authentication failed, attempted: "
        for asked, expected in (
            (request(authorization="Bearer s3cret"), attempted + "bearer"),
            (request(authorization="basic s3cret"), attempted + "basic"),
            (request(query="access_token=s3cret"), attempted + "access_token"),
            (request(certificate=UNREADABLE, authorization="Bearer s"), attempted + "bearer, x509"),
            (request(authorization="s3cret"), "Authentication failed, no credentials provided"),
            (request(), "Authentication failed, no credentials provided"),
        ):
            self.assertEqual(attempts(asked), expected)
