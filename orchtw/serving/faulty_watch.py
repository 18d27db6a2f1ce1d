"""Faults in the stream of a watch: a cut in the middle of an event, an error event, bookmarks late or never."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchtw.faults.rules import Strike
from orchtw.faults.statuses import too_old
from orchtw.request import Ending, ResponseChannel, chunk
from orchtw.schema.codec.wire import delimited
from orchtw.serving.response_bodies import unframed
from orchtw.serving.watch_stream import WatchStream
from orchtw.watch.frame_messages import json_messages, protobuf_frames
from orchtw.watch.frames import BOOKMARK, ERROR

PAUSE_S: Final = 0.05
"""Time between half an event and the reset: a client that sends at that moment notices the reset first."""


class WatchFormat(msgspec.Struct, frozen=True):
    """Form of a watch's bytes: how they are split into frames, and where a frame says its type."""

    split: Callable[[bytes], Iterable[bytes]]
    bookmark: bytes
    error: bytes
    type_at: int = 0

    def is_bookmark(self, frame: bytes) -> bool:
        """Report whether a frame is a BOOKMARK event."""
        return frame.startswith(self.bookmark, self.type_at)

    def is_error(self, frame: bytes) -> bool:
        """Report whether a frame is an ERROR event."""
        return frame.startswith(self.error, self.type_at)


JSON: Final = WatchFormat(json_messages, b'{"type":"%b"' % BOOKMARK.encode(), b'{"type":"%b"' % ERROR.encode())
PROTOBUF: Final = WatchFormat(
    protobuf_frames, delimited(1, BOOKMARK.encode()), delimited(1, ERROR.encode()), type_at=4
)


def form_of(frames: bytes) -> WatchFormat:
    """Return the form of some frames: JSON begins with a brace, Protobuf with a length far below that."""
    return JSON if frames.startswith(b"{") else PROTOBUF


class WatchStrikes(msgspec.Struct, frozen=True, kw_only=True):
    """Faults chosen for one watch, at most one of each kind."""

    cut: Strike | None = None
    expired: Strike | None = None
    bookmarks: Strike | None = None

    def release(self) -> None:
        """Give back those that have not come about."""
        for strike in (self.cut, self.expired, self.bookmarks):
            if strike is not None:
                strike.release()


class FaultyWatch(WatchStream):
    """Stream of a watch, between its member and the connection, that breaks as its rules say.

    Towards the member it is the sink. Bookmarks and errors of the server do not count as events. It costs a copy of
    each event, where other watches share their bytes.
    """

    __slots__ = ("_channel", "_clock", "_events", "_faults", "_form", "_passing", "_timer")

    def __init__(
        self,
        stream: WatchStream,
        faults: WatchStrikes,
        clock: IReactorTime,
        form: Callable[[bytes], WatchFormat] = form_of,
    ) -> None:
        super().__init__(stream.member)
        self._form = form
        self._faults = faults
        self._clock = clock
        self._events = 0
        self._passing = True
        self._channel: ResponseChannel | None = None
        self._timer: IDelayedCall | None = None

    # Towards the connection

    def start(self, channel: ResponseChannel) -> None:
        """Register for backpressure, then write, as `WatchStream.start`."""
        self._channel = channel
        channel.registerProducer(self, True)
        self._look_for_expiry()
        self.member.start(self)

    def connection_lost(self) -> None:
        """Close the member: the client is gone."""
        self._over()
        super().connection_lost()

    def stopProducing(self) -> None:
        """Close the member: the transport is gone."""
        self._over()
        super().stopProducing()

    # Towards the member

    def write(self, framed: bytes) -> None:
        """Pass on the events of HTTP chunks, one by one, as long as there is no fault."""
        frames = unframed(framed)
        form = self._form(frames)
        for frame in form.split(frames):
            self._pass(frame, form)

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Pass on the one event in the pieces."""
        frame = b"".join(pieces)
        self._pass(frame, self._form(frame))

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the stream for the given reason."""
        channel = self._over()
        if channel is not None:
            channel.finish(ending)

    # Faults

    def _pass(self, frame: bytes, form: WatchFormat) -> None:
        if self._channel is None or not self._passing:
            return
        if form.is_bookmark(frame):
            self._pass_bookmark(self._channel, frame)
            return
        cut = self._faults.cut
        if form.is_error(frame):
            self._channel.write(chunk(frame))
        elif cut is not None and self._events >= cut.live.rule.after_events:
            self._cut(self._channel, frame, cut)
        else:
            self._events += 1
            self._channel.write(chunk(frame))
            self._look_for_expiry()

    def _pass_bookmark(self, channel: ResponseChannel, frame: bytes) -> None:
        strike = self._faults.bookmarks
        if strike is None:
            channel.write(chunk(frame))
            return
        strike.strike()
        delay_s = strike.live.rule.seconds
        if delay_s is not None and self._timer is None:
            self._timer = self._clock.callLater(delay_s, self._write_late_bookmark)

    def _write_late_bookmark(self) -> None:
        """Write the bookmark that is late: one of now, because a bookmark never goes back behind events."""
        self._timer = None
        faults, self._faults = self._faults, msgspec.structs.replace(self._faults, bookmarks=None)
        self.member.write_bookmark()
        self._faults = faults

    def _cut(self, channel: ResponseChannel, frame: bytes, cut: Strike) -> None:
        """Write the first half of a frame, and reset the connection a moment later."""
        channel.write(chunk(frame[: max(len(frame) // 2, 1)]))
        self._stop_passing()
        cut.strike()
        self._timer = self._clock.callLater(PAUSE_S, self._reset)

    def _reset(self) -> None:
        channel = self._over()
        # The member first: its connection no longer tells it that it is gone.
        self.member.close()
        if channel is not None:
            channel.reset()

    def _look_for_expiry(self) -> None:
        """Have the watch expire if it has shown its events; after this turn, for the member may be in a loop."""
        expired = self._faults.expired
        if expired is not None and self._events >= expired.live.rule.after_events:
            self._stop_passing()
            self._timer = self._clock.callLater(0, partial(self._expire, expired))

    def _expire(self, expired: Strike) -> None:
        self._timer = None
        self._passing = True
        expired.strike()
        self.member.fail(too_old(expired.live.rule, self.member.cursor))

    def _stop_passing(self) -> None:
        self._passing = False
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def _over(self) -> ResponseChannel | None:
        """Pass nothing more; returns the channel, the first time."""
        self._stop_passing()
        channel, self._channel = self._channel, None
        self._faults.release()
        return channel
