"""Packing: texts come back whole or in part, and their lengths are known without unpacking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.wire.packing import Packed, Packer
from tests.properties import examples

TEXTS = st.lists(st.binary(min_size=1, max_size=3000), min_size=1, max_size=5)


class PackerTests(SynchronousTestCase):
    @examples(100)
    @given(TEXTS, st.integers(1, 4000))
    def test_same(self, texts: list[bytes], size: int) -> None:
        """Every text of a packer comes back, and so does the beginning of it."""
        packer = Packer()
        for text, packed in [(text, packer.pack(text)) for text in texts]:
            self.assertIs(type(packed), Packed)
            self.assertEqual((packer.unpack(packed), packed.text_bytes), (text, len(text)))
            self.assertEqual(packer.begin(packed, size), text[:size])

    def test_alike(self) -> None:
        """A text that is like the first one takes little."""
        packer = Packer()
        text = bytes(range(256)) * 20
        packer.pack(text)
        self.assertLess(len(packer.pack(text + b"!")), 100)
