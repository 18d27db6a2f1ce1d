"""Watches that are received without being deciphered."""

from __future__ import annotations

import socket
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bench import unread
from bench.unread import Unread, UnreadWatches
from tests.properties import examples

SEALING = 17


class Opened:
    """Stand-in for an open watch, reduced to its socket."""

    def __init__(self, stream: socket.socket) -> None:
        self.socket = stream

    def fileno(self) -> int:
        return self.socket.fileno()


def record(plain: int) -> bytes:
    """A TLS record that holds so many bytes."""
    return b"\x17\x03\x03" + (plain + SEALING).to_bytes(2) + bytes(plain + SEALING)


class UnreadTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.here, there = socket.socketpair()
        there.setblocking(False)
        self.watch: Any = Opened(there)
        self.addCleanup(self.here.close)
        self.addCleanup(there.close)

    @examples(30)
    @given(st.lists(st.integers(0, 700), min_size=1, max_size=6), st.integers(1, 900))
    def test_counts(self, sizes: list[int], step: int) -> None:
        """The bytes of records are counted regardless of how the stream is split into reads."""
        stream = b"".join(map(record, sizes))
        one = Unread(self.watch)
        for at in range(0, len(stream), step):
            self.here.sendall(stream[at : at + step])
            one.readable()
        self.assertEqual((one.bytes, one.ended), (sum(sizes), False))
        one.readable()
        self.assertFalse(one.ended)

    def test_end(self) -> None:
        """A connection that is closed has ended; all that came before counts."""
        self.patch(unread, "PAUSE_S", 0)
        watches = UnreadWatches()
        self.assertEqual(watches.turn(), -1)
        watches.add(self.watch)
        self.here.sendall(record(5))
        watches.turn()
        self.here.close()
        watches.turn()
        self.assertEqual((watches.bytes, watches.least(), [each.ended for each in watches.each()]), (5, 5, [True]))
        watches.begin_phase()
        self.assertEqual((watches.bytes, watches.least()), (0, 0))
