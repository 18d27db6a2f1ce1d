"""Random UUIDs as text."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.uuids import SIZE, uuid_text
from tests.properties import examples


class UuidTextTests(SynchronousTestCase):
    @examples(100)
    @given(st.binary(min_size=SIZE, max_size=SIZE))
    def test_is_a_random_uuid(self, random: bytes) -> None:
        """Any 16 bytes make a UUID of version 4 in canonical form, with the bytes' other bits in it (RFC 4122)."""
        made = uuid.UUID(uuid_text(random))
        self.assertEqual(str(made), uuid_text(random))
        self.assertEqual(made, uuid.UUID(bytes=random, version=4))
