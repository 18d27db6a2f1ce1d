"""Cache of token verdicts (reference AUTHN-6)."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn import token_cache
from orchtw.authn.token_cache import Accepted, Refused, Verdicts, accepted
from orchtw.errors import Unauthorized
from orchtw.request import UserInfo

ALICE = Accepted(UserInfo(name="alice", groups=("dev",), extra={"k": ("v",)}))


class VerdictsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.kept = Verdicts(bytes(32), self.clock.seconds)

    def test_both_outcomes(self) -> None:
        """A user and a refusal are kept for their time (reference AUTHN-6)."""
        good, bad = self.kept.digest("good"), self.kept.digest("bad")
        self.kept.keep(good, ALICE, 10)
        self.kept.keep(bad, Refused("why"), 5)
        self.assertEqual((self.kept.known(good), self.kept.known(bad)), (ALICE, Refused("why")))
        self.clock.advance(5)
        self.assertEqual((self.kept.known(good), self.kept.known(bad)), (ALICE, None))
        self.clock.advance(5)
        self.assertIsNone(self.kept.known(good))
        self.assertEqual(len(self.kept), 0)

    def test_no_time(self) -> None:
        """A verdict with a lifetime of 0 is not cached."""
        digest = self.kept.digest("t")
        self.kept.keep(digest, ALICE, 0)
        self.assertIsNone(self.kept.known(digest))

    def test_no_token(self) -> None:
        """Nothing that is kept holds a token, and other keys make other digests."""
        digest = self.kept.digest("secret\udcff")
        self.assertNotIn(b"secret", digest)
        self.assertNotEqual(digest, Verdicts(bytes([1]) * 32, self.clock.seconds).digest("secret\udcff"))

    def test_many(self) -> None:
        """However many tokens come, so many are remembered, the latest."""
        self.patch(token_cache, "TOKENS", 3)
        digests = [self.kept.digest(str(number)) for number in range(5)]
        for digest in digests:
            self.kept.keep(digest, ALICE, 10)
        self.assertEqual([self.kept.known(each) is not None for each in digests], [False, False, True, True, True])

    def test_guesses(self) -> None:
        """However many tokens are refused, the users stay."""
        self.patch(token_cache, "TOKENS", 3)
        known = self.kept.digest("known")
        self.kept.keep(known, ALICE, 10)
        for number in range(9):
            self.kept.keep(self.kept.digest(str(number)), Refused(""), 10)
        self.assertEqual((self.kept.known(known), len(self.kept)), (ALICE, 4))

    def test_changed(self) -> None:
        """The latest verdict on a token counts, whichever kind it is."""
        digest = self.kept.digest("t")
        for verdict in (ALICE, Refused(""), ALICE):
            self.kept.keep(digest, verdict, 10)
            self.assertEqual((self.kept.known(digest), len(self.kept)), (verdict, 1))

    def test_large(self) -> None:
        """Users with many groups put out the oldest, and one that is too large for all is not kept."""
        self.patch(token_cache, "CHARACTERS", 100)
        first, second, third = (self.kept.digest(each) for each in "abc")
        self.kept.keep(first, ALICE, 10)
        self.kept.keep(second, Accepted(UserInfo(name="x" * 95)), 10)
        self.kept.keep(third, Accepted(UserInfo(name="x" * 101)), 10)
        self.assertEqual([self.kept.known(each) is not None for each in (first, second, third)], [False, True, False])

    def test_accepted(self) -> None:
        """A refusal is a 401 with its reason for the log."""
        self.assertIs(accepted(ALICE), ALICE)
        self.assertEqual(self.assertRaises(Unauthorized, accepted, Refused("why")).why, "why")
