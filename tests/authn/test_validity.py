"""Time for which answers about credentials hold (`orchtw.authn.validity`)."""

from __future__ import annotations

from unittest import mock

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.bearer_token import BearerTokens
from orchtw.authn.method import ShownToken
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.union import AuthenticatorUnion
from orchtw.authn.validity import FOREIGN, Validity, together
from orchtw.authn.websocket_tokens import WebSocketTokens
from orchtw.authn.x509 import ClientCertificates
from orchtw.request import Peer, Request, UserInfo

USER = UserInfo(name="amy", groups=("system:authenticated",))
PEER = Peer(address="", port=0)


class Tokens:
    """A source of tokens that says what it is told to say."""

    def __init__(self, answer: Validity | None) -> None:
        self.answer = answer

    def find(self, shown: ShownToken) -> UserInfo | None:
        return USER if self.answer is not None and self.answer.known else None

    def lasts(self, shown: ShownToken) -> Validity | None:
        return self.answer


class Mute:
    """A source, or a method, that says nothing of how long."""

    def find(self, shown: ShownToken) -> UserInfo | None:
        return USER

    def authenticate(self, request: Request) -> UserInfo | None:
        return USER


def request(peer: Peer = PEER, /, **headers: str) -> Request:
    return Request(method="GET", path="/x", headers=headers, peer=peer)


class TogetherTests(SynchronousTestCase):
    """Several sources as one."""

    def test_all_before(self) -> None:
        """All that are asked must hold, those before the one that knows the user too; later ones do not matter."""
        looks = [mock.Mock(), mock.Mock(), mock.Mock()]
        first, second, third = (
            Validity(known=known, stands=(look,)) for known, look in zip((False, True, True), looks, strict=True)
        )
        found = together([FOREIGN, first, second, third, None])
        assert found is not None
        self.assertEqual((found.known, found.stands), (True, tuple(looks[:2])))

    def test_asked_each_time(self) -> None:
        """One of them that has to be asked each time is enough for all."""
        self.assertIsNone(together([FOREIGN, None, Validity(known=True)]))

    def test_nobody(self) -> None:
        """Anonymous users are those whom no source knows, as long as that holds."""
        look = mock.Mock()
        found = together([FOREIGN, Validity(known=False, stands=(look,))])
        assert found is not None
        self.assertEqual((found.known, found.stands), (False, (look,)))


class MethodTests(SynchronousTestCase):
    """The methods of authentication."""

    def test_bearer(self) -> None:
        """A token lasts as its source says; a request without one is not of this kind."""
        known = Validity(known=True, stands=(lambda: True,))
        shown = request(authorization="Bearer x")
        found = BearerTokens([Tokens(FOREIGN), Tokens(known)]).lasts(shown)
        self.assertEqual(msgspec.structs.astuple(found) if found else None, msgspec.structs.astuple(known))
        self.assertIsNone(BearerTokens([Mute(), Tokens(known)]).lasts(shown))
        self.assertIs(BearerTokens([Mute()]).lasts(request()), FOREIGN)

    def test_union(self) -> None:
        """Methods that cannot tell how long, such as plugins', make it untold for those behind them."""
        known = BearerTokens([Tokens(Validity(known=True))])
        shown = request(authorization="Bearer x")
        self.assertIsNotNone(AuthenticatorUnion([known, Mute()], anonymous=False).lasts(shown))
        self.assertIsNone(AuthenticatorUnion([Mute(), known], anonymous=False).lasts(shown))

    def test_web_sockets(self) -> None:
        """A request that offers sub-protocols may carry a token there."""
        method = WebSocketTokens(BearerTokens([]), ("orch.io",))
        self.assertIs(method.lasts(request()), FOREIGN)
        self.assertIsNone(method.lasts(request(**{"sec-websocket-protocol": "x"})))

    def test_certificate(self) -> None:
        """A certificate lasts from its first to its last second, and each use of it is counted."""
        now = [150.0]
        metrics = AuthenticationMetrics()
        method = ClientCertificates(lambda: now[0], metrics)
        certificate = mock.Mock()
        certificate.not_valid_before_utc.timestamp.return_value = 100.0
        certificate.not_valid_after_utc.timestamp.return_value = 200.0
        with mock.patch("orchtw.authn.x509.user_of", lambda _: USER):
            shown = request(msgspec.structs.replace(PEER, certificate=certificate, verified=True))
            self.assertIsNone(method.lasts(shown))
            self.assertEqual(method.authenticate(shown), USER)
        found = method.lasts(shown)
        assert found is not None
        (stands,), (used,) = found.stands, found.used
        self.assertTrue(found.known)
        for now[0], holds in ((99.0, False), (100.0, True), (200.0, True), (200.5, False)):
            self.assertEqual(stands(), holds)
        now[0] = 150.0
        with mock.patch.object(AuthenticationMetrics, "certificate") as counted:
            again = method.lasts(shown)
            assert again is not None
            again.used[0]()
        counted.assert_called_once_with(50.0)
        used()
        self.assertIs(method.lasts(request()), FOREIGN)
        self.assertIsNone(method.lasts(request(msgspec.structs.replace(shown.peer, verified=False))))
