"""The opening handshake of WebSockets."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Forbidden
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.websocket import UpgradeRequired, check_origin, handshake, is_websocket, subprotocols

# The key and the accept token of RFC 6455 §1.3.
KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
HEADERS = {
    "host": "api:6443",
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": KEY,
}


class IsWebSocketTests(SynchronousTestCase):
    def test_asks(self) -> None:
        """Both headers must ask for it, in any case of letters and among others (RFC 6455 §4.2.1)."""
        self.assertTrue(is_websocket(HEADERS))
        self.assertTrue(is_websocket({"connection": "keep-alive, UPGRADE", "upgrade": "WebSocket, h2c"}))

    def test_does_not(self) -> None:
        """One header alone, another protocol, or a word that only contains the right one ask for none."""
        for headers in (
            {},
            {"upgrade": "websocket"},
            {"connection": "upgrade"},
            {"connection": "upgrade", "upgrade": "SPDY/3.1"},
            {"connection": "not-upgrade", "upgrade": "websocket"},
        ):
            self.assertFalse(is_websocket(headers), headers)


class HandshakeTests(SynchronousTestCase):
    def test_accepted(self) -> None:
        """The answer proves that the key was read (RFC 6455 §1.3)."""
        self.assertEqual(
            handshake(HEADERS),
            [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", ACCEPT)],
        )

    def test_subprotocol(self) -> None:
        """The first sub-protocol that is not a token is chosen; a token is never sent back (reference WATCH-19)."""
        token = "base64url.bearer.authorization.example.com.eA"
        headers = {**HEADERS, "sec-websocket-protocol": f"{token} ,, b,a"}
        self.assertEqual(subprotocols(headers), [token, "b", "a"])
        self.assertEqual(handshake(headers)[-1], ("Sec-WebSocket-Protocol", "b"))
        only = {**HEADERS, "sec-websocket-protocol": token}
        self.assertEqual(handshake(only)[-1], ("Sec-WebSocket-Accept", ACCEPT))

    def test_keys(self) -> None:
        """A key is 16 bytes in base64; any other, or none, is a 400."""
        for key in ("", "x", "eA==", KEY + "=", KEY[:-3], "é" * 24, KEY[:-1] + " "):
            self.assertRaises(BadRequest, handshake, {**HEADERS, "sec-websocket-key": key})
        self.assertRaises(BadRequest, handshake, {name: HEADERS[name] for name in HEADERS if "key" not in name})

    def test_versions(self) -> None:
        """No version is 400, another than 13 is 426."""
        self.assertRaises(BadRequest, handshake, {name: HEADERS[name] for name in HEADERS if "version" not in name})
        for version in ("8", "013", "13, 8", ""):
            refusal = self.assertRaises(UpgradeRequired, handshake, {**HEADERS, "sec-websocket-version": version})
            self.assertEqual(refusal.code, 426)


class OriginTests(SynchronousTestCase):
    def test_let_in(self) -> None:
        """A program without Origin, the server's own pages, and allowed ones."""
        check_origin(HEADERS, AllowedOrigins())
        check_origin({**HEADERS, "origin": "https://api:6443"}, AllowedOrigins())
        check_origin({**HEADERS, "origin": "https://console"}, AllowedOrigins(["^https://console$"]))

    def test_kept_out(self) -> None:
        """Every other origin is 403, the empty one and that of files too."""
        for origin in ("https://console", "http://api:6443", "null", "", "file://", "https://api:6443, https://evil"):
            refusal = self.assertRaises(Forbidden, check_origin, {**HEADERS, "origin": origin}, AllowedOrigins())
            self.assertIn(repr(origin), refusal.message)
