"""Tokens that come as a WebSocket's sub-protocol (reference AUTHN-11)."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.audiences import ForThisAPI
from orchtw.authn.bearer_token import BearerTokens
from orchtw.authn.websocket_tokens import WebSocketTokens
from orchtw.errors import Unauthorized
from orchtw.request import Peer, Request, UserInfo

ALICE = UserInfo(name="alice")
UPGRADE = {"connection": "Upgrade", "upgrade": "websocket"}
PROTOCOLS = "sec-websocket-protocol"


class Source:
    """Knows one token, and remembers which it was asked about."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.asked: list[str] = []

    def find(self, token: str) -> UserInfo | None:
        self.asked.append(token)
        return ALICE if token == self.token else None


def encoded(token: bytes) -> str:
    return urlsafe_b64encode(token).decode().rstrip("=")


def sub_protocol(token: bytes, domain: str = "k8s.io") -> str:
    return f"base64url.bearer.authorization.{domain}.{encoded(token)}"


def request(*protocols: str, **headers: Any) -> Request:
    """An upgrade request with these sub-protocols."""
    given = {**UPGRADE, PROTOCOLS: ", ".join(protocols), **headers}
    return Request(method="GET", path="/", headers=given, peer=Peer(address="", port=0))


class WebSocketTokensTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.source = Source("s3cret~?>")
        self.method = WebSocketTokens(BearerTokens([ForThisAPI(self.source, ())]), ("orch.io", "k8s.io"))

    def refused(self, *protocols: str) -> Request:
        """The request that was refused for these sub-protocols."""
        asked = request(*protocols)
        self.assertRaises(Unauthorized, self.method.authenticate, asked)
        return asked

    def test_known(self) -> None:
        """A token under either vocabulary's domain identifies its user and is removed from the request."""
        for domain in ("orch.io", "k8s.io"):
            asked = request("a", sub_protocol(b"s3cret~?>", domain), "b")
            self.assertIs(self.method.authenticate(asked), ALICE)
            self.assertEqual(asked.headers, {**UPGRADE, PROTOCOLS: "a, b"})

    def test_unknown(self) -> None:
        """An unknown token is a 401, and is removed too."""
        self.assertEqual(self.refused("a", sub_protocol(b"other")).headers[PROTOCOLS], "a")

    def test_not_a_matter(self) -> None:
        """No upgrade, no sub-protocols, no token among them, or one of another domain: nothing is said or changed."""
        token = sub_protocol(b"s3cret~?>")
        for asked in (
            request(token, "a", upgrade="h2c"),
            request("a", "b"),
            request("a", sub_protocol(b"s3cret~?>", "example.com")),
            Request(method="GET", path="/", headers=UPGRADE, peer=Peer(address="", port=0)),
        ):
            before = dict(asked.headers)
            self.assertIsNone(self.method.authenticate(asked))
            self.assertEqual((asked.headers, self.source.asked), (before, []))

    def test_two(self) -> None:
        """Two tokens are a 401, equal ones too, and no method is asked."""
        token = sub_protocol(b"s3cret~?>")
        for other in (token, sub_protocol(b"other"), sub_protocol(b"s3cret~?>", "orch.io")):
            self.refused(token, other, "a")
        self.assertEqual(self.source.asked, [])

    def test_alone(self) -> None:
        """A token as the only sub-protocol is refused, as none could be chosen; other domains' do not count."""
        self.refused(sub_protocol(b"s3cret~?>"))
        self.refused(sub_protocol(b"s3cret~?>"), sub_protocol(b"x", "example.com"))

    def test_undecodable(self) -> None:
        """Padding, other alphabets, impossible lengths, bytes that are not text, blanks and nothing are a 401."""
        prefix = "base64url.bearer.authorization.k8s.io."
        blanks = encoded(b"s3cret~?> x"), encoded(b" ")
        for text in ("eA==", "e+/x", "abcde", "\xe9", "", encoded(b"\xff\xfe"), *blanks):
            self.refused(prefix + text, "a")
        self.assertEqual(self.source.asked, [])
