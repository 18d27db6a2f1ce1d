"""Names made from metadata.generateName."""

from __future__ import annotations

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.generate_name import generate_name


class GenerateNameTests(SynchronousTestCase):
    """Names made by `generate_name`."""

    def test_form(self) -> None:
        """The prefix, cut to 58 characters, is followed by 5 of the alphabet (reference OBJ-29)."""
        for prefix in ("web-", "x" * 70):
            name = generate_name(prefix, Random(7))
            self.assertEqual(name[:-5], prefix[:58])
            self.assertLessEqual(set(name[-5:]), set("bcdfghjklmnpqrstvwxz2456789"))

    def test_random(self) -> None:
        """Randomness is the argument's."""
        self.assertEqual(generate_name("a-", Random(7)), generate_name("a-", Random(7)))
        self.assertNotEqual(generate_name("a-", Random(7)), generate_name("a-", Random(8)))
