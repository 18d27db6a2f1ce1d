"""Change feeds: each a watch of everything below the prefix, begun again where it was when its connection fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.errors import Expired, StatusError
from orchtw.storage.etcd.calls import WATCH, WatchRequest, WatchResponse
from orchtw.storage.etcd.channel import Channel, Stream
from orchtw.storage.etcd.connection import Call
from orchtw.storage.etcd.keys import Keys
from orchtw.storage.etcd.status import RpcError
from orchtw.storage.interface import Change, KeyValue, Subscription

Deliver = Callable[[Sequence[Change]], None]
Note = Callable[[str, "bytes | None", int, int], object]

AGAIN_S: Final = 0.1


class Watch(Subscription, Call):
    """One feed. `reached` is the revision up to which everything has been delivered."""

    _log = Logger()

    def __init__(self, watching: Watching, after: int, deliver: Deliver) -> None:
        self._watching = watching
        self._deliver = deliver
        self.reached = after
        self.live: Deferred[None] = Deferred()
        self._stream: Stream | None = None
        self._id = 0
        self._parts: list[Any] = []
        self.stopped = False

    def begin(self) -> None:
        """Ask for everything after `reached`, if there is a connection."""
        if self._stream is None and not self.stopped:
            self._parts = []
            self._stream = self._watching.open(self, self.reached + 1)

    def stop(self) -> None:
        """See `Subscription`."""
        self.stopped = True
        self._watching.leave(self)
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()

    def progress(self) -> None:
        """Ask the member how far the watch is."""
        if self._stream is not None:
            self._stream.send(PROGRESS)

    def message(self, body: bytes) -> None:
        """See `Call`: events, progress, or that the watch has begun or ended."""
        answer = WatchResponse.FromString(body)
        if answer.canceled:
            self._cancelled(answer)
        elif answer.created:
            self._id = answer.watch_id
            if not self.live.called:
                self.live.callback(None)
        elif answer.fragment:
            self._parts += answer.events
        elif answer.events:
            events = [*self._parts, *answer.events] if self._parts else answer.events
            self._parts = []
            self._take([self._watching.change(event) for event in events])
        elif answer.watch_id == self._id or self._watching.trusts_progress:
            self._advance(answer.header.revision)

    def ended(self, error: RpcError | None) -> None:
        """See `Call`: begin again."""
        self._stream = None
        if not self.stopped:
            self._watching.again(self)

    def _take(self, changes: list[Change]) -> None:
        if changes[0].revision <= self.reached:
            changes = [change for change in changes if change.revision > self.reached]
        if changes and not self.stopped:
            self._hand_on(changes)
            self._watching.advanced()

    def _advance(self, revision: int) -> None:
        """Nothing else has happened up to `revision`."""
        if revision > self.reached and not self.stopped:
            self._hand_on([Change(revision, "", None, None)])
            self._watching.advanced()

    def _hand_on(self, changes: list[Change]) -> None:
        """A subscriber that raises is logged and keeps its place."""
        self.reached = changes[-1].revision
        try:
            self._deliver(changes)
        except Exception:  # noqa: BLE001 - a subscriber's bug is logged
            self._log.failure("a subscriber failed at revision {revision}", revision=self.reached)

    def _cancelled(self, answer: Any) -> None:
        """The member has ended the watch, which is compacted, or may not be had."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()
        why = answer.cancel_reason
        problem: StatusError = Expired.watch(self.reached, answer.compact_revision)
        if not answer.compact_revision:
            self._log.error("the watch of etcd was refused: {why}", why=why)
            self._watching.again(self)
        elif not self.live.called:
            self.live.errback(problem)
        else:
            self._watching.lost(self, answer.compact_revision)


class Watching:
    """All feeds of a store, and what waits for them to come to a revision."""

    _log = Logger()

    def __init__(
        self, channel: Channel, keys: Keys, clock: IReactorTime, note: Note, advanced: Callable[[], None]
    ) -> None:
        self._channel = channel
        self._keys = keys
        self._clock = clock
        self._note = note
        self.advanced = advanced
        self._watches: list[Watch] = []
        self.trusts_progress = False
        self.failure = ""

    async def follow(self, after: int, deliver: Deliver) -> Watch:
        """A feed of everything after a revision that is not compacted; it is live when this returns."""
        watch = Watch(self, after, deliver)
        self._watches.append(watch)
        watch.begin()
        try:
            await watch.live
        except BaseException:
            watch.stop()
            raise
        return watch

    @property
    def reached(self) -> int | None:
        """The revision that all feeds have come to; None: there are no feeds."""
        return min((watch.reached for watch in self._watches if watch.live.called), default=None)

    def connected(self) -> None:
        """There is a new connection."""
        for watch in tuple(self._watches):
            watch.begin()

    def stop(self) -> None:
        """End all feeds."""
        for watch in tuple(self._watches):
            watch.stop()

    def open(self, watch: Watch, start: int) -> Stream | None:
        """Begin a watch at a revision."""
        create = {
            "key": self._keys.first,
            "range_end": self._keys.end,
            "start_revision": start,
            "progress_notify": True,
            "prev_kv": True,
            "fragment": True,
        }
        return self._channel.stream(WATCH, WatchRequest(create_request=create).SerializeToString(), watch)

    def again(self, watch: Watch) -> None:
        """Begin a watch again that was ended by the other side."""
        self._clock.callLater(AGAIN_S, watch.begin)

    def leave(self, watch: Watch) -> None:
        """A watch is over."""
        if watch in self._watches:
            self._watches.remove(watch)
            self.advanced()

    def lost(self, watch: Watch, oldest: int) -> None:
        """What a watch was behind by has been compacted: what its subscriber keeps cannot be made right any more."""
        text = "changes from revision {begin} to {oldest} were compacted before they were seen"
        self.failure = text.format(begin=watch.reached + 1, oldest=oldest)
        self._log.error("{why}", why=self.failure)

    def change(self, event: Any) -> Change:
        """An event as subscribers know it."""
        pair = event.kv
        if pair.key == self._keys.sentinel:
            return Change(pair.mod_revision, "", None, None)
        key, revision = self._keys.shown(pair.key), pair.mod_revision
        value = None if event.type else pair.value
        previous, replaced = None, 0
        if event.HasField("prev_kv"):
            old = event.prev_kv
            replaced = old.mod_revision
            previous = KeyValue(key, old.value, replaced, old.create_revision)
        return Change(revision, key, value, previous, self._note(key, value, revision, replaced))


PROGRESS: Final = WatchRequest(progress_request={}).SerializeToString()
