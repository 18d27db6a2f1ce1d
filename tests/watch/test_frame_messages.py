"""Watch frames as messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.watch.frame_messages import json_messages, protobuf_frames, protobuf_messages
from orchtw.watch.frames import protobuf_frame
from tests.properties import examples


class JSONMessagesTests(SynchronousTestCase):
    def test_lines(self) -> None:
        """Each line is a message with its newline; other separators of Unicode stay inside."""
        lines = [b'{"a":1}\n', b'{"b":"\xe2\x80\xa8\x0b\x1c"}\n']
        self.assertEqual(json_messages(b"".join(lines)), lines)
        self.assertEqual(json_messages(b""), [])


class ProtobufMessagesTests(SynchronousTestCase):
    @examples(100)
    @given(st.lists(st.binary(max_size=300), max_size=5))
    def test_frames(self, envelopes: list[bytes]) -> None:
        """Each frame is a message without its four bytes of length, whatever is in it."""
        frames = [protobuf_frame("ADDED", envelope) for envelope in envelopes]
        self.assertEqual(list(protobuf_messages(b"".join(frames))), [frame[4:] for frame in frames])
        self.assertEqual(list(protobuf_frames(b"".join(frames))), frames)
