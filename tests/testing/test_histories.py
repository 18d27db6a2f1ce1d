"""The checker of histories: it finds each kind of thing that cannot be, and nothing where all is well."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.histories import History, Operation
from tests.properties import examples


class HistoryTests(SynchronousTestCase):
    """One key; times are those of the lines."""

    def setUp(self) -> None:
        self.history = History()

    def wrote(self, value: str, expected: int, revision: int, began: float, ended: float) -> Operation:
        """A write that was answered; at revision 0 it was refused."""
        operation = self.history.write("k", value, expected, began)
        operation.end(ended, revision)
        return operation

    def read(self, value: str, revision: int, began: float, ended: float) -> None:
        self.history.read("k", began).end(ended, revision, value)

    def saw(self, watcher: str, *revisions: int) -> None:
        values = {1: "a", 2: "b", 3: "c"}
        for revision in revisions:
            self.history.saw(watcher, "k", revision, values[revision])

    def assertFound(self, *texts: str) -> None:
        self.assertEqual(self.history.problems(), [f"k: {text}" for text in texts])

    def three(self) -> None:
        """Three writes one after the other."""
        self.wrote("a", 0, 1, 0, 1)
        self.wrote("b", 1, 2, 2, 3)
        self.wrote("c", 2, 3, 4, 5)

    def test_good(self) -> None:
        """Overlapping operations in any order that fits; a refusal, a lost write that happened, one that did not."""
        self.wrote("a", 0, 1, 0, 5)
        self.read("", 0, 1, 2)
        self.read("a", 1, 1, 3)
        self.wrote("x", 0, 0, 4, 6)
        self.history.write("k", "b", 1, 6)
        self.read("a", 1, 7, 8)
        self.read("b", 2, 7, 9)
        self.history.write("k", "never", 1, 9)
        self.saw("w", 1, 2)
        self.assertFound()
        self.assertEqual((self.history.acknowledged, self.history.deliveries), (1, 2))

    def test_stale_read(self) -> None:
        """A read that begins after a newer revision was reported, by a write or a read, must not be older."""
        self.three()
        self.read("b", 2, 6, 7)
        self.assertFound("a read saw 2 after 3 had been reported")

    def test_reads_go_back(self) -> None:
        """Nor one after a read that saw more, though the write is not answered yet."""
        self.wrote("a", 0, 1, 0, 9)
        self.read("a", 1, 1, 2)
        self.read("", 0, 3, 4)
        self.assertFound("a read saw 0 after 1 had been reported")

    def test_lost_write(self) -> None:
        """A write that was acknowledged and that the next one did not find, and no reader since."""
        self.wrote("a", 0, 1, 0, 1)
        self.wrote("b", 0, 2, 2, 3)
        self.assertFound("the write at 2 was for 0, but 1 was stored")

    def test_two_winners(self) -> None:
        """Two writes that were both for the same state."""
        self.wrote("a", 0, 1, 0, 1)
        self.wrote("b", 1, 2, 2, 5)
        self.wrote("c", 1, 3, 2, 5)
        self.assertFound("the write at 3 was for 1, but 2 was stored")

    def test_read_of_the_future(self) -> None:
        """A read does not see a value that has not been sent."""
        self.read("a", 1, 0, 1)
        self.wrote("a", 0, 1, 2, 3)
        self.assertFound(
            "the write at 1 began after 1 had been reported",
            "a read saw 1 before it was written",
        )

    def test_late_write_with_an_early_revision(self) -> None:
        """Revisions follow time, also where the answer was lost."""
        self.wrote("b", 1, 2, 0, 1)
        self.history.write("k", "a", 0, 2)
        self.saw("w", 1, 2)
        self.assertFound("the write at 1 began after 2 had been reported")

    def test_unknown_values(self) -> None:
        """A value that nobody wrote, one that stands at two revisions, and two at one."""
        self.wrote("a", 0, 1, 0, 1)
        self.read("z", 2, 2, 3)
        self.assertFound("revision 2 is 'z', which nobody wrote")
        self.read("a", 3, 4, 5)
        self.assertIn("k: 'a' was written 2 times", self.history.problems())
        self.read("y", 2, 2, 3)
        self.assertIn("k: revision 2 is 'z' and 'y'", self.history.problems())

    def test_lost_answer_twice(self) -> None:
        """A write whose answer was lost happens at most once."""
        self.history.write("k", "a", 0, 0)
        self.saw("w", 1)
        self.history.saw("w", "k", 2, "a")
        self.assertIn("k: 'a' was written 2 times", self.history.problems())

    def test_refused_in_vain(self) -> None:
        """A refusal needs a moment in which the key was not as expected."""
        self.three()
        self.wrote("d", 3, 0, 6, 7)
        self.assertFound("the write of 'd' was refused, though 3 was stored")

    def test_refused_before_anything(self) -> None:
        """Nothing stood there before the first write began."""
        self.wrote("d", 0, 0, 0, 1)
        self.wrote("a", 0, 1, 2, 3)
        self.assertFound("the write of 'd' was refused, though 0 was stored")

    def test_watchers(self) -> None:
        """One misses the middle, one the end, one hears twice, one in another order, one nothing."""
        self.three()
        self.saw("good", 1, 2, 3)
        self.saw("middle", 1, 3)
        self.saw("end", 1, 2)
        self.saw("twice", 1, 2, 2, 3)
        self.saw("order", 2, 1, 3)
        self.history.watched_by(["deaf", "good"])
        self.assertFound(
            "middle missed 1 of 3 events, the first at 2",
            "end missed 1 of 3 events, the first at 3",
            "twice received 2 twice",
            "order received events in another order",
            "deaf missed 3 of 3 events, the first at 1",
        )

    def test_keys_are_apart(self) -> None:
        """Each has its own history."""
        self.history.write("k", "a", 0, 0).end(1, 5)
        self.history.write("other", "b", 0, 2).end(3, 4)
        self.assertFound()

    @examples(100)
    @given(st.integers(0, 10_000))
    def test_every_real_history_is_good(self, seed: int) -> None:
        """Clients of one register that does one thing after the other, answers lost at random (nothing found); and
        of one that at times answers a read with what stood there before.
        """
        for stale in (False, True):
            history, old = _played(Random(seed), stale=stale)
            self.assertEqual(bool(history.problems()), old)


def _played(random: Random, *, stale: bool) -> tuple[History, bool]:
    """A random history, and whether an answer in it was older than one that had been told."""
    history, revisions, told, wrong, now = History(), [(0, "")], 0, False, 0.0
    for number in range(40):
        began, happens, ended = now + 0.1, now + 0.2, now + 0.3
        now += 1
        revision, value = revisions[-1]
        if random.random() < 0.5:
            seen = random.choice(revisions) if stale else (revision, value)
            wrong = wrong or seen[0] < told
            history.read("k", began).end(ended, *seen)
            told = max(told, seen[0])
            continue
        expected = random.choice(revisions)[0]
        operation = history.write("k", f"v{number}", expected, began)
        if expected == revision:
            revisions.append((int(happens * 10), f"v{number}"))
            history.saw("w", "k", *revisions[-1])
        if random.random() < 0.8:
            operation.end(ended, revisions[-1][0] if expected == revision else 0)
            told = max(told, operation.revision)
    return history, wrong
