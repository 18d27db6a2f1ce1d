"""Change feeds: watches of everything below the prefix, which resume at their revision after a lost connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw.errors import Expired, StatusError
from orchtw.outbound.grpc.channel import Channel, Stream
from orchtw.outbound.grpc.connection import GrpcCall
from orchtw.outbound.grpc.status import RpcError
from orchtw.storage.etcd.calls import WATCH, WatchRequest, WatchResponse
from orchtw.storage.etcd.keys import EtcdKeys
from orchtw.storage.etcd.reading import Reading
from orchtw.storage.store import Change, KeyValue, Subscription

Deliver = Callable[[Sequence[Change]], None]
Note = Callable[[str, "bytes | None", int, int], object]

AGAIN_S: Final = 0.1
MAKE_UP_AGAIN_S: Final = 1.0
MAKE_UP_AT_ONCE: Final = 100


class EtcdWatch(Subscription, GrpcCall):
    """One feed. `reached` is the revision up to which everything has been delivered."""

    _log = Logger()

    def __init__(self, watching: Watching, after: int, deliver: Deliver) -> None:
        self._watching = watching
        self._deliver = deliver
        self.reached = after
        self.live: Deferred[None] = Deferred()
        self._stream: Stream | None = None
        self._again: IDelayedCall | None = None
        self._parts: list[Any] = []
        self._closed = False  # the missed history must be delivered first
        self.stopped = False

    def begin(self) -> None:
        """Begin the watch of everything after `reached`, if there is a connection."""
        if self._stream is None and not self.stopped and not self._closed:
            self._parts = []
            self._stream = self._watching.open(self, self.reached + 1)

    def stop(self) -> None:
        """End the subscription, as `Subscription.stop`."""
        self.stopped = True
        self._watching.leave(self)
        if self._again is not None and self._again.active():
            self._again.cancel()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()

    def progress(self) -> None:
        """Send a progress request for the watch."""
        if self._stream is not None:
            self._stream.send(PROGRESS)

    def message(self, body: bytes) -> None:
        """Handle a message, as `GrpcCall`: events, progress, or the beginning or end of the watch."""
        answer = WatchResponse.FromString(body)
        if answer.canceled:
            self._cancelled(answer)
        elif answer.created:
            self._check_order(answer.header.revision)
            if not self.live.called:
                self.live.callback(None)
        elif answer.fragment:
            self._parts += answer.events
        elif answer.events:
            events = [*self._parts, *answer.events] if self._parts else answer.events
            self._parts = []
            self._take([self._watching.change(event) for event in events])
        else:
            self._watching.bookmarks += 1
            self._advance(answer.header.revision)

    def ended(self, error: RpcError | None) -> None:
        """Begin again, as `GrpcCall` requires after the end of a call."""
        self._stream = None
        self._begin_again()

    def _begin_again(self) -> None:
        """Begin again in a moment: the cluster has ended the watch."""
        if not self.stopped:
            self._again = self._watching.clock.callLater(AGAIN_S, self.begin)

    def _check_order(self, revision: int) -> None:
        """Note a failure if the cluster is at an earlier revision than before: its data was replaced."""
        if revision < self.reached:
            text = "etcd is at revision {now}, though it was at {then}: its data was replaced by older data"
            self._watching.failure = text.format(now=revision, then=self.reached)
            self._log.error("{why}", why=self._watching.failure)

    def _take(self, changes: list[Change]) -> None:
        if changes[0].revision <= self.reached:
            changes = [change for change in changes if change.revision > self.reached]
        if changes and not self.stopped:
            self._hand_on(changes)
            self._watching.advanced()

    def _advance(self, revision: int) -> None:
        """Advance to `revision`: there was no other change up to it."""
        if revision > self.reached and not self.stopped:
            self._hand_on([Change(revision, "", None, None)])
            self._watching.advanced()

    def _hand_on(self, changes: Sequence[Change]) -> None:
        """Deliver changes; a subscriber that raises is logged and stays subscribed."""
        self.reached = changes[-1].revision
        try:
            self._deliver(changes)
        except Exception:  # noqa: BLE001 - a subscriber's bug is logged
            self._log.failure("a subscriber failed at revision {revision}", revision=self.reached)

    def _cancelled(self, answer: Any) -> None:
        """Handle the end of the watch by the member: make up for a compaction, else begin again."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()
        why = answer.cancel_reason
        problem: StatusError = Expired.watch(self.reached, answer.compact_revision)
        if not answer.compact_revision:
            self._log.error("the watch of etcd was refused: {why}", why=why)
            self._begin_again()
        elif not self.live.called:
            self.live.errback(problem)
        else:
            self._closed = True
            Deferred.fromCoroutine(self._make_up())

    async def _make_up(self) -> None:
        """Deliver the present state, since history after `reached` was compacted before it was seen."""
        watching, after = self._watching, self.reached
        self._log.warn("changes after revision {after} were compacted before they were seen", after=after)
        while not self.stopped:
            try:
                changes, revision = await watching.changes_over(after)
                break
            except StatusError as problem:
                self._log.error("the missed changes cannot be read yet: {why}", why=problem.message)
                await deferLater(watching.clock, MAKE_UP_AGAIN_S)
        else:
            return
        for begin in range(0, len(changes), MAKE_UP_AT_ONCE):
            if not self.stopped:
                self._hand_on(changes[begin : begin + MAKE_UP_AT_ONCE])
                watching.advanced()
            await deferLater(watching.clock, 0)
        self._advance(revision)
        self._closed = False
        self.begin()


class Watching:
    """All feeds of a store, and the revision that all of them have reached."""

    def __init__(self, channel: Channel, reading: Reading, keys: EtcdKeys, clock: Any, note: Note) -> None:
        self._channel = channel
        self._reading = reading
        self._keys = keys
        self.clock = clock
        self._note = note
        self._watches: list[EtcdWatch] = []
        self.advanced: Callable[[], None] = lambda: None
        self.known: Callable[[], Iterable[str]] = tuple
        self.bookmarks = 0
        self.failure = ""

    async def follow(self, after: int, deliver: Deliver) -> EtcdWatch:
        """Return a feed of everything after a revision that is not compacted, once it is live."""
        watch = EtcdWatch(self, after, deliver)
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
        """Revision that all feeds have reached; None: there are no feeds."""
        return min((watch.reached for watch in self._watches if watch.live.called), default=None)

    def connected(self) -> None:
        """Begin the feeds on a new connection."""
        for watch in tuple(self._watches):
            watch.begin()

    def stop(self) -> None:
        """End the feeds of all subscribers."""
        for watch in tuple(self._watches):
            watch.stop()

    def open(self, watch: EtcdWatch, start: int) -> Stream | None:
        """Open the stream of a watch from a revision on; None without a connection."""
        create = {
            "key": self._keys.first,
            "range_end": self._keys.end,
            "start_revision": start,
            "progress_notify": True,
            "prev_kv": True,
            "fragment": True,
        }
        return self._channel.stream(WATCH, WatchRequest(create_request=create).SerializeToString(), watch)

    def leave(self, watch: EtcdWatch) -> None:
        """Forget a watch that has ended."""
        if watch in self._watches:
            self._watches.remove(watch)
            self.advanced()

    def progress(self) -> None:
        """Send progress requests for all watches."""
        for watch in self._watches:
            watch.progress()

    async def changes_over(self, after: int) -> tuple[Sequence[Change], int]:
        """Return the changes from a revision's state to the present, and its revision (see `Store.remembers`)."""
        written, left, revision = await self._reading.written_since(after)
        changes = [Change(item.revision, item.key, item.value, None) for item in written]
        gone = set(self.known()).difference(left)
        return [*changes, *(Change(revision, key, None, None) for key in sorted(gone))], revision

    def change(self, event: Any) -> Change:
        """Return an event as a Change for subscribers."""
        pair = event.kv
        if pair.key in self._keys.own:
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
