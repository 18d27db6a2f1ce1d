"""CRC-32 of texts from those of their parts."""

from __future__ import annotations

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.serving.crc import joined_crc, shift_of
from tests.properties import examples


class JoinedCrcTests(SynchronousTestCase):
    @examples(100)
    @given(st.binary(max_size=500), st.binary(max_size=500), st.integers(1, 1000))
    def test_joined(self, first: bytes, second: bytes, times: int) -> None:
        """It is the one of the joined text, whatever the lengths."""
        second *= times
        found = joined_crc(crc32(first), crc32(second), shift_of(len(second)))
        self.assertEqual(found, crc32(first + second))
