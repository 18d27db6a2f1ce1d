"""Random UUIDs as text."""

from __future__ import annotations

import os
import uuid

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.values import uuids
from orchtw.values.uuids import new_uuid, uuid_text
from tests.properties import examples


class UuidTextTests(SynchronousTestCase):
    @examples(100)
    @given(st.binary(min_size=16, max_size=16))
    def test_is_a_random_uuid(self, random: bytes) -> None:
        """Any 16 bytes make a UUID of version 4 in canonical form, with the bytes' other bits in it (RFC 4122)."""
        made = uuid.UUID(uuid_text(random))
        self.assertEqual(str(made), uuid_text(random))
        self.assertEqual(made, uuid.UUID(bytes=random, version=4))


class NewUuidTests(SynchronousTestCase):
    def test_never_again(self) -> None:
        """UUIDs differ, within what is read at once and beyond it, and all bytes that are read are used."""
        read: list[int] = []
        urandom = os.urandom
        self.patch(uuids, "_unused", [])

        def counted(size: int) -> bytes:
            read.append(size)
            return urandom(size)

        self.patch(os, "urandom", counted)
        made = {new_uuid() for _ in range(1000)}
        self.assertEqual(len(made), 1000)
        self.assertEqual(read, [16 * 256] * 4)

    def test_after_a_fork(self) -> None:
        """A child process makes other UUIDs than its parent."""
        new_uuid()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.write(writing, new_uuid().encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertNotEqual(os.read(reading, 36).decode(), new_uuid())
        os.close(reading)
        os.close(writing)
