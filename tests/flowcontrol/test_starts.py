"""The order in which requests begin."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.queueset import Seating
from orchtw.flowcontrol.starts import LOOK_EVERY, SLICE_S, Starts


class StartsTests(SynchronousTestCase):
    """Requests take as long as they say."""

    def setUp(self) -> None:
        self.now = 0.0
        self.soon: list[Callable[[], None]] = []
        self.called: list[Seating] = []
        self.begun: list[str] = []
        self.starts = Starts(lambda: self.now, self.soon.append, self.call)

    def call(self, seating: Seating) -> bool:
        self.called.append(seating)
        self.spend(SLICE_S)
        return len(self.called) < 3

    def spend(self, seconds: float) -> None:
        """Something holds the reactor."""
        self.now += seconds

    def turn(self, count: int = 1) -> None:
        """So many turns of the reactor."""
        for _ in range(count):
            soon, self.soon[:] = list(self.soon), []
            for work in soon:
                work()

    def request(self, user: str, takes_s: float = SLICE_S) -> Deferred[None] | None:
        """A request of the user; None: it has begun at once."""
        if self.starts.free():
            self.begin(user, takes_s)
            return None
        waiting = self.starts.turn(user)
        waiting.addCallback(lambda _: self.begin(user, takes_s))
        return waiting

    def begin(self, user: str, takes_s: float) -> None:
        self.begun.append(user)
        self.spend(takes_s)

    def crowd(self) -> None:
        """So many requests in one turn that the rest has to wait."""
        for _ in range(LOOK_EVERY):
            self.assertIsNone(self.request("greedy", 0.001))
        while self.request("greedy", 0.001) is None:
            pass
        self.begun.clear()

    def test_few_requests(self) -> None:
        """Requests that come one by one begin at once, whatever they take (reference FLOW-10)."""
        for _ in range(100):
            self.assertIsNone(self.request("alice", 0.1))
            self.turn()
        self.assertEqual(self.soon, [])

    def test_users_in_turns(self) -> None:
        """Behind a crowd everybody else waits for one request of the crowd's user (reference FLOW-10)."""
        self.crowd()
        for _ in range(5):
            self.request("greedy")
        self.request("alice")
        self.request("bob")
        self.turn(20)
        first = self.begun.index("alice")
        self.assertEqual(self.begun[first : first + 3], ["alice", "bob", "greedy"])
        self.assertLessEqual(first, 9)
        self.assertEqual(self.begun.count("greedy"), 6)

    def test_a_slice_a_turn(self) -> None:
        """A turn begins what fits in a slice, at least one; nothing is lost."""
        self.crowd()
        for _ in range(8):
            self.request("alice", SLICE_S / 4)
        self.turn()
        self.assertLessEqual(len(self.begun), 9)
        self.turn(20)
        self.assertEqual(self.begun.count("alice"), 8)
        self.assertEqual((self.starts.waiting, self.soon), (0, []))
        self.assertIsNone(self.request("bob"))

    def test_leaving(self) -> None:
        """A request that leaves is removed from the line at once, and a user's last one takes the user with it."""
        self.crowd()
        waiting = self.request("alice")
        assert waiting is not None
        before = self.starts.waiting
        waiting.addErrback(lambda _: None)
        waiting.cancel()
        self.assertEqual(self.starts.waiting, before - 1)
        self.turn(5)
        self.assertNotIn("alice", self.begun)

    def test_seats_are_given_out_in_slices(self) -> None:
        """Requests waiting for seats are called from the next turn on, a slice at a time, until none are left."""
        seating = Seating(1, None)
        self.starts.freed(seating)
        self.assertEqual(self.called, [])
        self.turn()
        self.assertEqual(len(self.called), 1)
        self.turn(5)
        self.assertEqual((len(self.called), self.soon), (3, []))
