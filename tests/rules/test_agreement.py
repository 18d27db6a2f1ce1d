"""Facts that servers of one cluster compare (reference CTRL-52)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.agreement import Believed, Content, Equal, Fact, differences, statement


def found(mine: Fact, other: Fact) -> Sequence[str]:
    """The facts that one server finds to differ from those of another, as it publishes them."""
    said = json.loads(json.dumps(statement([other])))
    return [each.fact for each in differences([mine], said)]


def keys(used: str, believed: str) -> Believed:
    """Keys, a letter each."""
    return Believed(name="keys", used=used, believed=believed)


class FactTests(SynchronousTestCase):
    """Each kind of fact, from both sides."""

    def check(self, one: Fact, other: Fact, *, differ: bool) -> None:
        for mine, theirs in ((one, other), (other, one)):
            self.assertEqual(found(mine, theirs), [mine.name] if differ else [], (mine, theirs))

    def test_equal(self) -> None:
        """Text is the same or not."""
        self.check(Equal(name="a", text="x"), Equal(name="a", text="x"), differ=False)
        self.check(Equal(name="a", text="x"), Equal(name="a", text="y"), differ=True)

    def test_content(self) -> None:
        """The content of a file is compared, and not told: the same looks different each time."""
        one, same = Content(name="f", content=b"secret"), Content(name="f", content=b"secret")
        self.check(one, same, differ=False)
        self.check(one, Content(name="f", content=b"other"), differ=True)
        self.check(one, Content(name="f", content=b""), differ=True)
        self.assertNotEqual(one.published(), same.published())
        self.assertNotIn("secret", json.dumps(one.published()))

    def test_keys(self) -> None:
        """Each believes what the others use; both may believe more, as while keys are exchanged one by one."""
        self.check(keys("a", "a"), keys("a", "a"), differ=False)
        self.check(keys("a", "a"), keys("a", "ab"), differ=False)
        self.check(keys("a", "ab"), keys("b", "ab"), differ=False)
        self.check(keys("a", "a"), keys("b", "ab"), differ=True)
        self.check(keys("a", "a"), keys("b", "b"), differ=True)

    def test_believed_alone(self) -> None:
        """Those who use nothing believe something in common, if they believe anything."""
        self.check(keys("", "ab"), keys("", "bc"), differ=False)
        self.check(keys("", "a"), keys("", "b"), differ=True)
        self.check(keys("", ""), keys("", "b"), differ=False)

    def test_statements_of_other_versions(self) -> None:
        """A fact that another version omits or states differently is not a difference."""
        mine: list[Fact] = [keys("a", "a"), Content(name="f", content=b"x")]
        odd: list[Any] = [{}, {"keys": 1}, {"keys": {"used": 3}}, {"keys": None, "f": {"salt": "zz"}}, {"f": []}]
        for other in odd:
            self.assertEqual(differences(mine, other), [], other)
