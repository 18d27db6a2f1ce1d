"""Rows that are kept: written later, they are what they would have been if they had been made then."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.tables.cached_rows import cached_row, written_row
from orchtw.schema.tables.cells import Age
from tests.properties import examples

AGES = st.floats(0, 4e9).map(Age)
CELLS = st.lists(st.text() | st.integers(-(2**53), 2**53) | st.booleans() | st.none() | AGES)


class LastingRowTests(SynchronousTestCase):
    @examples(100)
    @given(CELLS, st.integers(1, 10**6), st.floats(0, 4e9))
    def test_written(self, cells: list[object], end: int, now_s: float) -> None:
        """Ages are those of the time of writing; all other cells are as given, whatever they contain."""
        text, found = written_row(cached_row(cells, end), now_s)
        expected = [cell.text(now_s) if isinstance(cell, Age) else cell for cell in cells]
        self.assertEqual((text, found), (orjson.dumps(expected), end))

    def test_other_values(self) -> None:
        """A value without a JSON form is an error, as in a Table that is written at once."""
        self.assertRaises(TypeError, cached_row, [object()], 1)
