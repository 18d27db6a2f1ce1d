"""Store over an etcd cluster; see the package for its parts."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from orchtw import errors
from orchtw.metrics.series import GAUGE, Read, ShownFamily, Single, one
from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import Dialer
from orchtw.outbound.grpc.channel import Channel, ChannelSettings
from orchtw.outbound.grpc.status import RpcError
from orchtw.outbound.grpc.targets import TCPTarget
from orchtw.outbound.tls import ClientTLS
from orchtw.storage.etcd.calls import Calls, RequestOp, TxnRequest
from orchtw.storage.etcd.compaction import Compactor, compact
from orchtw.storage.etcd.expiry import Leased, Leases
from orchtw.storage.etcd.health import Health
from orchtw.storage.etcd.keys import EtcdKeys
from orchtw.storage.etcd.reading import LARGEST, Reading
from orchtw.storage.etcd.status import NO_LEADER, NO_SPACE, TO_COME, status_of
from orchtw.storage.etcd.vocabulary import Vocabulary
from orchtw.storage.etcd.waiting import UnreachableLog
from orchtw.storage.etcd.watching import Deliver, Watching
from orchtw.storage.etcd.writing import Write, Writing
from orchtw.storage.store import (
    Evidence,
    KeptValue,
    KeyValue,
    Op,
    Page,
    Store,
    Subscription,
    Wanted,
    WriteOutcome,
)

MAX_QUEUED_OPS: Final = 20_000
MAX_QUEUED_BYTES: Final = 64 << 20
MESSAGE_BYTES: Final = 1 << 31
"""Limit of a response: a range has as many values as were requested, and etcd does not bound their size."""
START_S: Final = 20.0
LOOKS_BACK: Final = 10_000
"""Revisions of history that a starting server reads: some hundred milliseconds, and hours of a quiet cluster."""

SEEN_S: Final = 5.0
"""Longest wait of a response until the feeds have its change; it is then sent anyway, since the write is durable."""

NUDGE_S: Final = 0.02
"""Lag of a feed behind a requested revision after which it is nudged."""


class EtcdSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the etcd store. `endpoints` are tried in turn; keys begin with `root` and lie below `prefix`.

    `vocabulary` is that of its objects; empty: any is accepted, and none is recorded. `evidence` recognises that of a
    store without a record. `renewed` returns new TLS settings for a connection; None keeps the last ones.
    """

    endpoints: Sequence[Destination]
    prefix: str = "/registry"
    root: str = "/registry"
    compaction_interval_s: float = 300.0
    lease_reuse_s: float = 60.0
    lease_objects: int = 1000
    size_interval_s: float = 30.0
    vocabulary: str = ""
    evidence: Callable[[], Evidence] | None = None
    renewed: Callable[[], ClientTLS | None] = lambda: None
    max_queued_ops: int = MAX_QUEUED_OPS
    max_queued_bytes: int = MAX_QUEUED_BYTES
    start_s: float = START_S


class EtcdStore(Store):
    """Etcd store, started and stopped once, on the thread of `reactor`. See `Store`."""

    _log = Logger()

    def __init__(self, settings: EtcdSettings, reactor: Any) -> None:
        self._settings = settings
        self._reactor = reactor
        self._keys = EtcdKeys(settings.prefix, settings.root)
        self._channel = _channel(reactor, settings, self._connected)
        self._calls = Calls(self._channel)
        self._reading = Reading(self._calls, self._keys)
        self._leases = Leases(self._calls, reactor.seconds, settings.lease_reuse_s, settings.lease_objects)
        self._writing = Writing(self._calls, self._keys, self._leases, self._reading.shown, self._committed)
        self._watching = Watching(self._channel, self._reading, self._keys, reactor, self._writing.note)
        self._watching.advanced = self._advanced
        self._vocabulary = Vocabulary(self._calls, self._reading, self._keys)
        self._health = Health(self._calls, self._channel, reactor)
        self.compactor = Compactor(self._calls)
        self._timer = LoopingCall(self._compact_in_turn)
        self._timer.clock = reactor
        self._unseen: list[tuple[int, int, float, Write]] = []
        """Committed writes that a feed has yet to receive, by revision."""
        self._order = count()
        self._looking: IDelayedCall | None = None
        self._nudging: IDelayedCall | None = None
        self._wanted = 0
        self._open = False

    @property
    def prefix(self) -> str:
        """Prefix of all keys of the store."""
        return self._settings.prefix

    @property
    def endpoint(self) -> str:
        """URL of the connected member, or ""."""
        return self._channel.endpoint

    @property
    def shared(self) -> bool:
        """Report True, for `Store.shared`."""
        return True

    @property
    def looks_back(self) -> int:
        """The number of `LOOKS_BACK`, for `Store.looks_back`."""
        return LOOKS_BACK

    async def start(self) -> None:
        """Implement `Store.start` for this store."""
        self._channel.start()
        waiting = UnreachableLog(self._reactor, lambda: self._channel.trouble)
        waiting.start()
        try:
            await self._calls.reached(self._keys.sentinel, self._settings.start_s)
        except RpcError as problem:
            why = self._channel.trouble or problem.text
            self._channel.stop()
            raise errors.ConfigError(f"--etcd-servers: {why}") from None
        finally:
            waiting.stop()
        if self._settings.vocabulary:
            try:
                await self.settle(self._settings.vocabulary)
            except BaseException:
                self._channel.stop()
                raise
        self._open = True
        if self._settings.compaction_interval_s:
            self._timer.start(self._settings.compaction_interval_s, now=True)
        self._health.start(self._settings.size_interval_s)

    async def settle(self, vocabulary: str) -> bool:
        """Record that objects are of `vocabulary`; return True if this call wrote the record.

        Raises ConfigError if they are of another one.
        """
        try:
            return await self._vocabulary.settle(vocabulary, self._evidence())
        except errors.StatusError as problem:
            raise errors.ConfigError(f"--etcd-servers: {problem.message}") from None

    async def vocabulary(self) -> str:
        """Return the vocabulary of the objects; empty if it is unknown.

        Raises ConfigError if it is uncertain, StatusError if the cluster fails.
        """
        return await self._vocabulary.known(self._evidence())

    async def unsettle(self) -> None:
        """Remove the record of a prefix that holds no objects."""
        await self._vocabulary.forget()

    def _evidence(self) -> Evidence | None:
        make = self._settings.evidence
        return None if make is None else make()

    async def stop(self) -> None:
        """Stop the feeds and the connection once all writes are answered, as `Store.stop`."""
        if not self._open:
            return
        self._open = False
        if self._timer.running:
            self._timer.stop()
        self._health.stop()
        await self._writing.idle()
        self._watching.stop()
        self._channel.stop()
        for call in (self._looking, self._nudging):
            if call is not None and call.active():
                call.cancel()

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        """Implement `Store.get` for this store."""
        self._must_be_open()
        return await self._reading.get(key, revision)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        """Implement `Store.list` for this store."""
        self._must_be_open()
        return await self._reading.list(prefix, revision, limit, start)

    def scan(self, prefix: str, *, revision: int = 0, wanted: Wanted = None) -> AsyncIterator[Page]:
        """Implement `Store.scan` for this store."""
        self._must_be_open()
        return self._reading.scan(prefix, revision)

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        """Implement `Store.commit` for this store."""
        try:
            self._must_be_open()
            raw = self._keys.stored(op.key)
            if self._writing.ops >= self._settings.max_queued_ops or (
                self._writing.bytes >= self._settings.max_queued_bytes
            ):
                raise errors.TooManyRequests("too many writes are waiting for the store", {"retryAfterSeconds": 1})
        except errors.StatusError as refusal:
            waiting: Deferred[WriteOutcome] = Deferred()
            waiting.errback(refusal)
            return waiting
        return self._writing.write(op, raw)

    async def keep(self, key: str, value: bytes, life_s: float) -> KeptValue:
        """Keep a value with a lease of its own, as `Store.keep`: its renewal is not a write."""
        self._must_be_open()
        raw = self._keys.stored(key)
        try:
            lease = (await self._calls.grant(math.ceil(life_s))).ID
            written = await self._writing.write(Op(key, value), raw, lease)
        except RpcError as error:
            raise status_of(error) from None
        return Leased(self._calls, lease, written.revision)

    async def subscribe(self, after_revision: int, deliver: Deliver) -> Subscription:
        """Implement `Store.subscribe` for this store."""
        self._must_be_open()
        await self._reading.compacted(after_revision)
        return await self._watching.follow(after_revision, deliver)

    async def revision(self) -> int:
        """Implement `Store.revision` for this store."""
        self._must_be_open()
        revision = await self._reading.revision()
        reached = self._watching.reached
        if reached is not None and revision > reached:
            self._want(revision)
        return revision

    async def compact(self, revision: int) -> None:
        """Implement `Store.compact` for this store."""
        self._must_be_open()
        if revision > LARGEST:
            raise errors.Timeout.future_version(revision, await self._reading.revision())
        try:
            await compact(self._calls, revision)
        except RpcError as error:
            if TO_COME in error.text:
                raise errors.Timeout.future_version(revision, await self._reading.revision()) from None
            raise status_of(error) from None

    async def check(self) -> None:
        """Check that the cluster has a leader, and no alarm that makes it reject writes, as `Store.check`."""
        self._must_be_open()
        await self._reading.revision()
        await self._health.check()

    async def alive(self) -> None:
        """Implement `Store.alive` for this store."""
        self._must_be_open()
        if self._watching.failure:
            raise errors.InternalError.of(self._watching.failure)
        await self._reading.revision()

    def _must_be_open(self) -> None:
        if not self._open:
            raise errors.ServiceUnavailable("the store is not open")

    async def seconds_left(self, revision: int) -> Mapping[int, int]:
        """Return the remaining seconds of expiring values, by the revision of their write."""
        self._must_be_open()
        try:
            return await self._reading.seconds_left(revision)
        except RpcError as error:
            raise status_of(error) from None

    def remembers(self, known: Callable[[], Iterable[str]]) -> None:
        """Implement `Store.remembers` for this store."""
        self._watching.known = known

    def sizes(self) -> Mapping[str, int]:
        """Return the sizes that the connected member last reported, as `Store.sizes`."""
        return self._health.sizes

    def metrics(self) -> Iterable[ShownFamily[Any]]:
        """Implement `Store.metrics` for this store."""
        writing = self._writing
        return (
            Read(one(lambda: writing.ops), "orchtw_store_queued_writes", GAUGE, "Writes in progress."),
            Read(one(lambda: writing.bytes), "orchtw_store_queued_bytes", GAUGE, "Bytes of writes in progress."),
            Read(lambda: [((self.prefix,), self._watching.bookmarks)], "etcd_bookmark_counts", GAUGE,
                 "Progress notifications received from etcd.", ("resource",)),
            Single(self._leases.counts, "etcd_lease_object_counts", "Values attached to one lease of etcd."),
        )  # fmt: skip

    # Answers after feeds

    def _connected(self) -> None:
        self._watching.connected()
        self._health.connected()

    def _committed(self, write: Write) -> None:
        """Answer a write once all feeds have received it."""
        reached = self._watching.reached
        if reached is None or write.revision <= reached:
            self._writing.answer(write)
            return
        heappush(self._unseen, (write.revision, next(self._order), self._reactor.seconds() + SEEN_S, write))
        if self._looking is None:
            self._looking = self._reactor.callLater(SEEN_S, self._look)

    def _advanced(self) -> None:
        """Answer the writes that all feeds have now received."""
        reached, unseen = self._watching.reached, self._unseen
        while unseen and (reached is None or unseen[0][0] <= reached):
            self._writing.answer(heappop(unseen)[3])

    def _look(self) -> None:
        """Answer the writes that have waited for too long."""
        self._looking = None
        now = self._reactor.seconds()
        late = [entry for entry in self._unseen if entry[2] <= now]
        self._unseen = sorted(entry for entry in self._unseen if entry[2] > now)
        for entry in late:
            self._writing.answer(entry[3])
        if self._unseen and self._looking is None:
            self._looking = self._reactor.callLater(min(entry[2] for entry in self._unseen) - now, self._look)

    # Feeds that have to reach a revision

    def _want(self, revision: int) -> None:
        """Bring the feeds to a revision soon, if no change does."""
        self._wanted = max(self._wanted, revision)
        if self._nudging is None:
            self._nudging = self._reactor.callLater(NUDGE_S, self._nudge)

    def _nudge(self) -> None:
        """Nudge feeds that no change has brought to the requested revision: others write outside the prefix."""
        self._nudging = None
        reached = self._watching.reached
        if not self._open or reached is None or reached >= self._wanted:
            return
        if self._health.trusts_progress:
            self._watching.progress()
        else:
            request = TxnRequest(success=[RequestOp(request_put={"key": self._keys.sentinel, "value": b""})])
            self._calls.txn(request, self._nudged)

    def _nudged(self, answer: Any) -> None:
        """Request progress if the sentinel could not be written for lack of space.

        Then no response can overtake a change, since none is made.
        """
        if isinstance(answer, RpcError) and answer.text == NO_SPACE:
            self._watching.progress()

    # Compaction

    def _compact_in_turn(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self._compact())

    async def _compact(self) -> None:
        try:
            await self.compactor.turn()
        except RpcError as error:
            if self._open:
                self._log.error("compaction failed: {why}", why=error.text)


def _channel(reactor: Any, settings: EtcdSettings, connected: Callable[[], None]) -> Channel:
    dialer = Dialer(reactor, "etcd")
    targets = [TCPTarget(dialer, each, settings.renewed) for each in settings.endpoints]
    return Channel(
        reactor,
        targets,
        ChannelSettings(
            name="etcd",
            closed="the store is closed",
            message_bytes=MESSAGE_BYTES,
            fields=(("hasleader", "true"),),  # a member without a leader reports that instead of waiting for one
            connected=connected,
            elsewhere=NO_LEADER,
        ),
    )
