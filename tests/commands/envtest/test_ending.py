"""Prompt ends of the drop-ins, without processes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.envtest.ending import LEAVE_S, LOOK_S, end_with_parent, leave_soon


class EndingTests(SynchronousTestCase):
    def test_parent(self) -> None:
        """The process ends at the first look that finds another parent, and not before."""
        parents, seen = [7, 7, 7, 1], list[object]()
        end_with_parent(parent=lambda: parents.pop(0), sleep=seen.append, end=lambda: seen.append("end")).join()
        self.assertEqual(seen, [LOOK_S, LOOK_S, "end"])

    def test_leave(self) -> None:
        """After the time for an orderly stop the process leaves, with the status of one."""
        seen: list[float] = []
        leave_soon(seen.append, seen.append).join()
        self.assertEqual(seen, [LEAVE_S, 0])
