"""Owner's side: a store that several processes use as if each had it alone.

A batch that the store has committed goes to all workers at once. Once each has confirmed it, it is *released*: now
all followers receive it, and its writers are answered. So whatever anybody has been shown or told is known to be
coming in every process, and a read that must not be older waits for what has come but is not released yet
(`Store.current`); without writes that is nothing. A process that does not confirm in time is fenced: its process is
ended, and only then is it no longer waited for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec
from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from orchtw import errors
from orchtw.metrics.series import GAUGE, Read, ShownFamily, one
from orchtw.storage.feed import Feed
from orchtw.storage.remote import messages
from orchtw.storage.remote.frames import framed
from orchtw.storage.remote.messages import MessageKind, Origin
from orchtw.storage.store import Change, KeyValue, Op, Page, Store, Subscription, Terms, Wanted, WriteOutcome

MAX_HELD: Final = 20_000
"""Answers that may wait for workers; further writes are refused."""

TICK_S: Final = 0.5


class HubMember(Protocol):
    """A worker as the hub sees it: `received` is the revision that it has confirmed; `admitted`: it serves."""

    worker: int
    received: int
    admitted: bool

    def tell(self, frame: bytes, revision: int, *, known: bool) -> None:
        """Send a part of a batch, whose last revision is `revision`; `known`: it is released at once."""

    def release(self, frame: bytes, revision: int) -> None:
        """Send the release of `revision`, unless it has been sent."""

    def tick(self) -> None:
        """Check that the worker is alive; called periodically."""

    def close(self) -> None:
        """Close the stream: the store is closed."""


class _Held(msgspec.Struct, frozen=True):
    """Result that waits until a revision has been released."""

    revision: int
    waiting: Deferred[Any]
    result: object


class _Enough(Exception):
    """Ends the delivery to a follower that has enough."""


class Hub(Store):
    """Store of the owner process, which also feeds workers. `store` is exclusive; `shared`: used by a cluster."""

    def __init__(self, store: Store, clock: IReactorTime) -> None:
        self._store = store
        self._feed = Feed()
        self._received = 0
        self._members: list[HubMember] = []
        self._pending: deque[tuple[int, Sequence[Change]]] = deque()
        self._held: deque[_Held] = deque()
        self._subscription: Subscription | None = None
        self._proceed = store.gather(lambda: bool(self._pending))
        self._ticking = LoopingCall(self._tick)
        self._ticking.clock = clock

    @property
    def shared(self) -> bool:
        """Report True, as `Store.shared`: the workers write too. The methods below are those of `Store`."""
        return True

    def current(self) -> bool:
        return self._feed.revision == self._received

    @property
    def dependencies(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return self._store.dependencies

    def probe(self) -> None:
        self._store.probe()

    def release(self) -> None:
        self._store.release()

    def show_replaced(self) -> None:
        self._store.show_replaced()

    def size_bytes(self) -> int:
        return self._store.size_bytes()

    def metrics(self) -> Iterable[ShownFamily[Any]]:
        return (
            *self._store.metrics(),
            Read(one(lambda: len(self._members)), "orchtw_workers", GAUGE, "Worker processes that follow the store."),
            Read(one(lambda: self._received - self._feed.revision), "orchtw_store_unreleased_writes", GAUGE,
                 "Writes that are on disk, but not yet in every worker."),
        )  # fmt: skip

    async def start(self) -> None:
        await self._store.start()
        self._received = self._feed.revision = await self._store.revision()
        self._subscription = await self._store.subscribe(self._received, self._take)
        self._ticking.start(TICK_S, now=False)

    async def stop(self) -> None:
        if self._ticking.running:
            self._ticking.stop()
        await self._store.stop()
        self._release(self._received)
        members, self._members = self._members, []
        for member in members:
            member.close()

    async def check(self) -> None:
        await self._store.check()

    async def alive(self) -> None:
        await self._store.alive()

    async def compact(self, revision: int) -> None:
        await self._store.compact(revision)

    async def revision(self) -> int:
        await self._store.revision()
        return self._received

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        found = await self._store.get(key, revision)
        await self._settled(self._received if found is None else found.revision)
        return found

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        found = await self._store.list(prefix, revision=revision, limit=limit, start=start)
        await self._settled(found.revision)
        return found

    async def scan(self, prefix: str, *, revision: int = 0, wanted: Wanted = None) -> AsyncIterator[Page]:
        async for page in self._store.scan(prefix, revision=revision, wanted=wanted):
            await self._settled(page.revision)
            yield page

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        if len(self._held) >= MAX_HELD:
            return fail(_too_many())
        waiting: Deferred[WriteOutcome] = Deferred()
        self._store.commit(op).addCallbacks(self._committed, waiting.errback, (waiting,))
        return waiting

    def _committed(self, outcome: WriteOutcome, waiting: Deferred[WriteOutcome]) -> None:
        """Answer a write once the state that its outcome shows is released; no Deferred waits for another."""
        if self.current():
            waiting.callback(outcome)
        else:
            self._wait(self._received, waiting, outcome)

    def forwarded(self, ops: Sequence[Op]) -> Sequence[Deferred[WriteOutcome | None]]:
        """Commit a worker's writes; the released change is the answer of each, so only a refusal is returned."""
        if len(self._held) >= MAX_HELD:
            return [fail(_too_many()) for _ in ops]
        committed: Sequence[Deferred[Any]] = self._store.commit_all(ops)
        for each in committed:
            each.addCallback(self._refusal)
        return committed

    def _refusal(self, outcome: WriteOutcome) -> WriteOutcome | Deferred[WriteOutcome] | None:
        return None if outcome.revision else self._hold(outcome)

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        await self._store.revision()  # raises where the store is closed
        return await self._feed.follow(after_revision, deliver, self.history)

    async def history(self, after: int, upto: int) -> Sequence[Change]:
        """Return the first changes between two revisions, as many as the store reads at once. Raises as
        `subscribe`.
        """
        found: list[Change] = []

        def take(changes: Sequence[Change]) -> None:
            found.extend(changes)
            raise _Enough

        # A store that nobody shares tells a follower of what there has been before that is live.
        with suppress(_Enough):
            (await self._store.subscribe(after, take)).stop()
        return _without_origins([change for change in found if change.revision <= upto])

    # Workers

    @property
    def received(self) -> int:
        """Revision of the latest committed batch, released or not."""
        return self._received

    def join(self, member: HubMember) -> None:
        """Add a member, which is sent commits from now on, but waited for only once it is admitted."""
        self._members.append(member)

    def leave(self, member: HubMember) -> None:
        """Remove a member: nothing waits for it any more."""
        if member in self._members:
            self._members.remove(member)
            self._advance()

    def confirmed(self) -> None:
        """Release what all have, after a member has confirmed more."""
        self._advance()

    def _tick(self) -> None:
        for member in tuple(self._members):
            member.tick()

    # Batches

    def _take(self, changes: Sequence[Change]) -> None:
        """Take over a batch that is on disk; the store answers its writers when this returns.

        A sole serving worker gets it as released: it need not wait for others, nor be sent what it has written.
        """
        self._received = changes[-1].revision
        admitted = [member for member in self._members if member.admitted]
        alone = admitted[0] if len(admitted) == 1 else None
        others = [member for member in self._members if member is not alone]
        if alone is not None:
            for part in messages.changes(changes, alone.worker):
                alone.tell(framed(MessageKind.KNOWN, part), self._received, known=True)
        for part in messages.changes(changes) if others else ():
            frame = framed(MessageKind.BATCH, part)
            for member in others:
                member.tell(frame, self._received, known=False)
        self._pending.append((self._received, _without_origins(changes)))
        self._advance()

    def _advance(self) -> None:
        """Release the batches that every admitted member has confirmed."""
        self._release(min((each.received for each in self._members if each.admitted), default=self._received))

    def _release(self, confirmed: int) -> None:
        """Release batches: tell followers first, then answer those who wait."""
        pending = self._pending
        if pending and pending[0][0] <= confirmed:
            while pending and pending[0][0] <= confirmed:
                self._feed.publish(pending.popleft()[1])
            frame = framed(MessageKind.RELEASE, messages.NUMBER.pack(self._feed.revision))
            for member in tuple(self._members):
                member.release(frame, self._feed.revision)
        self._answer()
        self._proceed()

    def _answer(self) -> None:
        held = self._held
        while held and held[0].revision <= self._feed.revision:
            first = held.popleft()
            first.waiting.callback(first.result)

    def _hold(self, outcome: WriteOutcome) -> WriteOutcome | Deferred[WriteOutcome]:
        """Hold back an outcome, a refusal too, until the state that it shows is released."""
        return outcome if self.current() else self._until(self._received, outcome)

    async def _settled(self, revision: int) -> None:
        """Wait until a revision that was read has been released."""
        if revision > self._feed.revision:
            await self._until(revision, None)

    def _until(self, revision: int, result: Any) -> Deferred[Any]:
        """Return a Deferred that fires once a revision has been released, in the order of the calls."""
        waiting: Deferred[Any] = Deferred()
        self._wait(revision, waiting, result)
        return waiting

    def _wait(self, revision: int, waiting: Deferred[Any], result: object) -> None:
        last = self._held[-1].revision if self._held else 0
        self._held.append(_Held(max(revision, last), waiting, result))


def _too_many() -> errors.TooManyRequests:
    return errors.TooManyRequests("too many writes are waiting for the workers", {"retryAfterSeconds": 1})


def _without_origins(changes: Sequence[Change]) -> Sequence[Change]:
    """Return the changes with the terms of workers' notes in the place of the notes."""
    if not any(type(change.note) is Origin for change in changes):
        return changes
    return [_without_origin(change) for change in changes]


def _without_origin(change: Change) -> Change:
    note = change.note
    if type(note) is not Origin:
        return change
    terms = Terms(note.terms) if note.terms else None
    return Change(change.revision, change.key, change.value, change.previous, terms)
