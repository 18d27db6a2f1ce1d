"""Wires of watches, which frame the encodings of the cache."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.responses.watch_wires import Wires
from orchtw.wire.packing import Packed
from tests.registry.test_stored import CODECS, pod, target


class WiresTests(SynchronousTestCase):
    def test_packed(self) -> None:
        """The state that a watch begins with leaves packed JSON packed: it has as many objects as a list."""
        pods = target("pods")
        entry = pods.stored.prepare(pod()).entry(7)
        wire = Wires(CODECS).plain(pods, "json")
        frame = wire.frame("ADDED", entry, 7)
        pods.stored.spare(entry, drop=False)
        self.assertEqual(wire.frame("ADDED", entry, 7), frame)
        self.assertIs(type(entry.json), Packed)
