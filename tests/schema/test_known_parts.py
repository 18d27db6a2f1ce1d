"""Cache of parts of objects by their text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Cause
from orchtw.schema.known_parts import LONGEST, SHORTEST, Drawn, KnownParts, text_of
from tests.properties import examples


class KnownPartsTests(SynchronousTestCase):
    def test_second_time(self) -> None:
        """An answer is kept when it comes again, and found by the whole key only."""
        known = KnownParts()
        known.put(("a", "b", b"text"), b"answer")
        self.assertIsNone(known.get(("a", "b", b"text")))
        known.put(("a", "b", b"text"), b"answer")
        self.assertEqual(known.get(("a", "b", b"text")), b"answer")
        self.assertIsNone(known.get(("a", "c", b"text")))
        self.assertIsNone(known.get(("c", "b", b"text")))

    @examples(30)
    @given(some.lists(some.integers(0, 60), max_size=300))
    def test_bounded(self, numbers: list[int]) -> None:
        """The cache stays within its bound, and what it still has is right."""
        known = KnownParts(20_000)
        for number in numbers:
            key = ("schema", "question", b"%d" % number * 100)
            known.put(key, b"%d" % number)
            self.assertIn(known.get(key), (None, b"%d" % number))
            self.assertLessEqual(known.size_bytes, 20_000)

    def test_recent_stay(self) -> None:
        """Answers that are asked for stay while others come and go."""
        known = KnownParts(20_000)
        wanted = ("schema", "question", b"wanted" * 100)
        for _ in range(2):
            known.put(wanted, b"yes")
        for number in range(200):
            for _ in range(2):
                known.put(("schema", "question", b"%d" % number * 100), b"no")
            self.assertEqual(known.get(wanted), b"yes")

    def test_sizes(self) -> None:
        """Small parts are not kept, nor are large ones and those without a text."""
        self.assertIsNone(text_of({"a": "b"}))
        self.assertIsNone(text_of({"a": "b" * LONGEST}))
        self.assertIsNone(text_of({"a": 1 << 70}))
        self.assertIsNotNone(text_of({"a": "b" * SHORTEST}))

    def test_valid(self) -> None:
        """A valid part is checked twice; a changed one, and one with causes, every time."""
        known, calls = KnownParts(), 0
        causes: list[Cause] = []

        def check(new: Any, old: Any) -> list[Cause]:
            nonlocal calls
            calls += 1
            return list(causes)

        def times(new: Any, old: Any, schema: str = "Spec") -> int:
            nonlocal calls
            calls = 0
            for _ in range(4):
                self.assertEqual(known.valid(schema, check, new, old), causes)
            return calls

        part = {"a": "b" * SHORTEST}
        self.assertEqual(times(part, None), 2)
        self.assertEqual(times(part, dict(part)), 2)
        self.assertEqual(times(part, {"a": "c"}), 4)
        self.assertEqual(times({**part, "c": 1}, {**part, "c": True}), 4)
        causes.append(Cause("FieldValueInvalid", "odd", "a"))
        self.assertEqual(times({"b": "b" * SHORTEST}, None), 4)
        self.assertEqual(times(part, None, "Status"), 4)


class DrawnTests(SynchronousTestCase):
    TEXT = b'{"volumes":[{"name":"kube-api-access-%b"}],"mounts":[{"name":"kube-api-access-%b","path":"/run"}]}'

    def test_one_text(self) -> None:
        """Parts that differ in the drawn name have one text, and each gets its own encoding back."""
        first, second = (Drawn(self.TEXT % (end, end)) for end in (b"bcdfg", b"22222"))
        self.assertEqual(first.text, second.text)
        encoded = b"\x15kube-api-access-bcdfg\x15kube-api-access-bcdfg/run"
        general = first.general(encoded)
        assert general is not None
        self.assertEqual(first.particular(general), encoded)
        self.assertEqual(second.particular(general), encoded.replace(b"bcdfg", b"22222"))

    def test_other_texts(self) -> None:
        """A text is its own where the name stands elsewhere too, or the placeholder does, or another name."""
        for text in (
            b'{"name":"web"}',
            self.TEXT % (b"00000", b"00000"),
            self.TEXT % (b"bcdfg", b"00000"),
            self.TEXT.replace(b"/run", b"kube-api-access-bcdfg") % (b"bcdfg", b"bcdfg"),
            b'{"name":"kube-api-access-bcdfg","kube-api-access-bcdfg":1}',
            b'{"image":"kube-api-access-bcdfg"}',
            b'{"name":"kube-api-access-bcdfgh"}',
        ):
            self.assertEqual(Drawn(text).text, text)
            self.assertEqual(Drawn(text).general(b"bcdfg"), b"bcdfg")
        two = Drawn(self.TEXT % (b"bcdfg", b"22222")).text
        self.assertEqual(two, self.TEXT % (b"00000", b"22222"))

    def test_unlike_encodings(self) -> None:
        """An encoding in which the name does not stand as often as in the text is not taken for others."""
        drawn = Drawn(self.TEXT % (b"bcdfg", b"bcdfg"))
        self.assertIsNone(drawn.general(b"kube-api-access-bcdfg"))
        self.assertIsNone(drawn.general(b"kube-api-access-bcdfg" * 2 + b"kube-api-access-00000"))
