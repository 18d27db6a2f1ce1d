"""Members of custom objects that are known by their text."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.custom.known_members import KnownMembers
from orchtw.schema.custom.parts import Unsure
from orchtw.schema.known_parts import SHORTEST, KnownParts

LONG = {"a": "x" * SHORTEST}


class KnownMembersTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.texts = KnownParts()
        self.members = KnownMembers(self.texts)
        self.calls = 0

    def fits(self, member: Any) -> bool:
        """Count a check of a member, which fits unless it says otherwise."""
        self.calls += 1
        return "odd" not in member

    def shape(self, member: Any, fill: bool, lost: list[str]) -> Any:
        """Drop an odd key, and fill in a default."""
        self.calls += 1
        if "odd" in member:
            lost.append("")
        kept = {key: value for key, value in member.items() if key != "odd"}
        return {**kept, "default": 1} if fill else kept

    def test_fits(self) -> None:
        """A member that fits is checked until its text is known; another one, or under another schema, is checked."""
        self.assertEqual([self.members.fits("p1", self.fits, dict(LONG)) for _ in range(5)], [True] * 5)
        self.assertEqual(self.calls, 2)
        self.assertFalse(any(self.members.fits("p1", self.fits, {**LONG, "odd": 1}) for _ in range(3)))
        self.assertEqual(self.calls, 5)
        self.members.fits("p2", self.fits, LONG)
        KnownMembers(self.texts).fits("p1", self.fits, LONG)
        self.assertEqual(self.calls, 7)

    def test_shaped(self) -> None:
        """The shape of a member is known, with defaults and without; no value is shared with another member."""
        for _ in range(4):
            for fill, wanted in ((True, {**LONG, "default": 1}), (False, LONG)):
                found = self.members.shaped("p1", self.shape, dict(LONG), fill, [])
                self.assertEqual(found, wanted)
                found["a"] = "changed"
        self.assertEqual(self.calls, 4)

    def test_canonical(self) -> None:
        """A member that is known to be canonical comes back itself; one that differs from its shape never does."""
        for number in range(4):
            member = dict(LONG)
            found = self.members.shaped("p1", self.shape, member, False, [])
            self.assertEqual(found is member, number > 1)
            self.assertIsNot(self.members.shaped("p1", self.shape, member, True, []), member)
            self.assertEqual(member, LONG)

    def test_loss(self) -> None:
        """A member that loses something is shaped each time, so that the loss is told."""
        for _ in range(3):
            lost: list[str] = []
            self.members.shaped("p1", self.shape, {**LONG, "odd": 1}, False, lost)
            self.assertEqual(lost, [""])

    def test_unsure(self) -> None:
        """Exceptions of the functions are raised, and nothing is learnt from them."""

        def unsure(member: Any) -> bool:
            raise Unsure

        for _ in range(3):
            self.assertRaises(Unsure, self.members.fits, "p1", unsure, LONG)
        self.assertEqual(self.texts.size_bytes, 0)
