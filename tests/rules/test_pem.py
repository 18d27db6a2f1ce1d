"""Blocks of PEM files."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.pem import Block, blocks

GOOD = b"-----BEGIN A B-----\nYWJj\nZA==\n-----END A B-----\n"
FOUND = Block("A B", False, b"abcd")


class BlockTests(SynchronousTestCase):
    def test_blocks(self) -> None:
        """Text between blocks is skipped; the last line may lack its end."""
        self.assertEqual(list(blocks(b"text\n" + GOOD + b"text\n" + GOOD.rstrip())), [FOUND, FOUND])

    def test_headers(self) -> None:
        """Headers are known to be there, and are not content."""
        text = GOOD.replace(b"-----\nY", b"-----\r\nProc-Type: 4\r\n\r\nY")
        self.assertEqual(list(blocks(text)), [Block("A B", True, b"abcd")])

    def test_no_blocks(self) -> None:
        """A malformed block is skipped and does not hide the blocks that follow."""
        for bad in (
            *(b"", b"-----BEGIN ", b"-----BEGIN A-----\nYWJj\n", b"-----BEGIN A-----", b" " + GOOD),
            GOOD.replace(b"END A", b"END C"),
            GOOD.replace(b"YWJj", b"Y*Jj"),
            GOOD.replace(b"B-----\nY", b"B----\nY"),
        ):
            self.assertEqual(list(blocks(bad)), [], bad)
            if b"END" in bad:
                self.assertEqual(list(blocks(bad + GOOD)), [FOUND], bad)
