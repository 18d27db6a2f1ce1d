"""Command lines of which only some flags are read."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.envtest.arguments import asks_for_help, asks_for_version, take


class TakeTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """Both spellings are read, the last value counts, and the rest keeps its order."""
        given = ["--a=1", "--b", "2", "--other=x", "word", "--a", "3=4", "-v=3", "--c"]
        self.assertEqual(
            take(given, ("a", "b", "c")),
            ({"a": "3=4", "b": "2", "c": "true"}, ["--other=x", "word", "-v=3"]),
        )

    def test_without_value(self) -> None:
        """A flag before another one, or at the end, is a boolean; an empty value stays one."""
        self.assertEqual(take(["--a", "--b=1", "--c="], ("a", "c")), ({"a": "true", "c": ""}, ["--b=1"]))

    def test_questions(self) -> None:
        """Help and version are asked for in several ways."""
        for given, helped, version in (
            (["--a", "--help"], True, False),
            (["-h"], True, False),
            (["--version=raw"], False, True),
            (["--a=--help"], False, False),
        ):
            self.assertEqual((asks_for_help(given), asks_for_version(given)), (helped, version))
