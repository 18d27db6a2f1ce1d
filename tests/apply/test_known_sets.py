"""The memory of field sets: `orchtw.apply.known_sets`."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply import known_sets
from orchtw.apply.known_sets import LONGEST_TEXT, known, tree_bytes
from orchtw.memory.known_values import KnownValues


class KnownSetsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.patch(known_sets, "KNOWN_SETS", KnownValues(100_000))
        self.made = 0

    def ask(self, text: bytes, question: str = "read", *, at_once: bool = True) -> object:
        def find() -> dict[str, object]:
            self.made += 1
            return {"f:a": {}, "f:n": {str(self.made): {}}}

        return known((question,), text, find, at_once=at_once)

    def test_made_once(self) -> None:
        """An answer is made once for each question and text, and the same object is found again."""
        self.assertIs(self.ask(b"a"), self.ask(b"a"))
        self.ask(b"b")
        self.ask(b"a", "shown")
        self.assertEqual(self.made, 3)

    def test_second_time(self) -> None:
        """An answer that may be asked for only once is kept when it is asked for again."""
        for _ in range(4):
            self.ask(b"a", at_once=False)
        self.assertEqual(self.made, 2)

    def test_no_answer(self) -> None:
        """That there is no tree is known as well."""
        for _ in range(2):
            self.assertIsNone(known(("claims",), b"a", lambda: None))
        self.assertIsNone(known(("claims",), b"a", lambda: self.fail("asked again")))

    def test_bounded(self) -> None:
        """Trees count with the memory of all their dicts, and texts that are too long are not kept."""
        for number in range(1000):
            self.ask(b"%d" % number)
            self.assertLessEqual(known_sets.KNOWN_SETS.size_bytes, 100_000)
        self.made = 0
        for _ in range(2):
            self.ask(b"x" * (LONGEST_TEXT + 1))
        self.assertEqual(self.made, 2)
        self.assertGreater(tree_bytes({"a": {"b": {}}}), tree_bytes({"a": {}}))
