"""Headers on their way out and back."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.forwarding import request_headers, response_headers, switching_headers, wants_upgrade

SENT = {
    "host": "api:6443",
    "accept": "*/*",
    "connection": "keep-alive, X-Mine",
    "x-mine": "1",
    "te": "trailers",
    "transfer-encoding": "chunked",
    "authorization": "Bearer secret",
    "impersonate-user": "eve",
    "x-remote-user": "eve",
    "x-forwarded-for": "203.0.113.9",
    "x-forwarded-uri": "/forged",
    "content-length": "5",
    "expect": "100-continue",
    "cookie": "a=b",
}


def sent(headers: dict[str, str], *, size: int = 0, upgrade: bool = False) -> list[tuple[str, str]]:
    return request_headers(headers, client="192.0.2.1", host="10.0.0.1:80", size=size, upgrade=upgrade)


class RequestHeaderTests(SynchronousTestCase):
    """Request headers passed on (reference PROXY-15)."""

    def test_plain(self) -> None:
        """Headers of the connection and credentials stay here; the client is added to those before it."""
        self.assertEqual(
            sent(SENT, size=5),
            [
                ("Host", "api:6443"),
                ("accept", "*/*"),
                ("cookie", "a=b"),
                ("X-Forwarded-For", "203.0.113.9, 192.0.2.1"),
                ("Content-Length", "5"),
                ("Connection", "close"),
            ],
        )

    def test_upgrade(self) -> None:
        """An upgrade request is passed on with its headers, each stream protocol on a line of its own."""
        headers = {
            "connection": "Upgrade",
            "upgrade": "SPDY/3.1",
            "user-agent": "kubectl",
            "x-stream-protocol-version": "v4.channel.k8s.io, v3.channel.k8s.io",
        }
        self.assertEqual(
            sent(headers, upgrade=True),
            [
                ("Host", "10.0.0.1:80"),
                ("user-agent", "kubectl"),
                ("x-stream-protocol-version", "v4.channel.k8s.io"),
                ("x-stream-protocol-version", "v3.channel.k8s.io"),
                ("X-Forwarded-For", "192.0.2.1"),
                ("Connection", "Upgrade"),
                ("Upgrade", "SPDY/3.1"),
            ],
        )

    def test_wanted(self) -> None:
        """An upgrade needs both headers."""
        self.assertTrue(wants_upgrade({"connection": "keep-alive, Upgrade", "upgrade": "websocket"}))
        self.assertFalse(wants_upgrade({"connection": "Upgrade"}))
        self.assertFalse(wants_upgrade({"upgrade": "websocket", "connection": "close"}))


OURS = (
    "Access-Control-Allow-Origin",
    "access-control-expose-headers",
    "Access-Control-Max-Age",
    "Alt-Svc",
    "AUDIT-ID",
    "Clear-Site-Data",
    "Content-Length",
    "Date",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Service-Worker-Allowed",
    "Strict-Transport-Security",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "X-Kubernetes-Pf-FlowSchema-UID",
    "X-Orch-Pf-PriorityLevel-UID",
    "X-Hop",
)


class ResponseHeaderTests(SynchronousTestCase):
    """Response headers passed back (reference PROXY-15)."""

    def test_ours(self) -> None:
        """Headers that this server sets on responses are never taken from another server."""
        lines = [(name, "x") for name in OURS]
        self.assertEqual(response_headers([("Connection", "close, X-Hop"), *lines]), [])
        switch = [("Upgrade", "SPDY/3.1"), ("Connection", "Upgrade")]
        named = ("connection", "keep-alive, Upgrade, X-Hop")
        self.assertEqual(switching_headers([switch[0], named, *lines]), [switch[0], ("connection", "Upgrade")])

    def test_cookies(self) -> None:
        """Cookies come from pages only, and not with another protocol."""
        lines = [("Set-Cookie", "a=1"), ("cache-control", "public")]
        self.assertEqual(response_headers(lines), [("Set-Cookie", "a=1"), ("Cache-Control", "public")])
        self.assertEqual(response_headers(lines, cookies=False), [("Cache-Control", "public")])
        self.assertEqual(switching_headers(lines[:1]), [])

    def test_plain(self) -> None:
        """Framing is ours, and so is which pages may read the answer."""
        lines = [
            ("Content-Type", "text/plain"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
            ("Content-Length", "5"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "close, X-Hop"),
            ("X-Hop", "1"),
            ("Date", "now"),
            ("access-control-allow-origin", "*"),
        ]
        kept = [("Content-Type", "text/plain"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
        self.assertEqual(response_headers(lines), kept)

    def test_switching(self) -> None:
        """A 101 keeps what it says about the protocol."""
        lines = [("Upgrade", "SPDY/3.1"), ("Connection", "Upgrade"), ("X-Stream-Protocol-Version", "v4")]
        self.assertEqual(switching_headers([*lines, ("Date", "now")]), lines)
