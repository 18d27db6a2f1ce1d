"""Store over another one that only sees sealed values (reference STORE-14)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import InternalError
from orchtw.metrics.series import ShownFamily
from orchtw.storage.encryption.deliveries import Deliveries
from orchtw.storage.encryption.provider import KeyMissing, Unreadable
from orchtw.storage.encryption.transformers import PLAIN, Opened, Transformer, Transformers
from orchtw.storage.store import (
    Change,
    Damaged,
    KeptValue,
    KeyValue,
    Locked,
    Op,
    Page,
    Store,
    Subscription,
    Wanted,
    WriteOutcome,
)

T = TypeVar("T")


async def with_keys(work: Callable[[], T]) -> T:
    """Return the result of `work` once all keys that it needs have been fetched. Raises Unreadable."""
    while True:
        try:
            return work()
        except KeyMissing as missing:
            await missing.fetch()


class EncryptedStore(Store):
    """Seals written values and opens read ones; everything else is left to the inner store.

    A value that no provider can open is not lost and not damaged: `get` raises, `list` counts it among the damaged
    with a reason, and a Change has it in its stored form.
    """

    _log = Logger()

    def __init__(
        self,
        store: Store,
        transformers: Transformers,
        dependencies: Mapping[str, Callable[[], Awaitable[None]]] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._services = dependencies
        self._transformers = transformers
        self._written: dict[str, list[tuple[bytes, bytes]]] = {}
        """Sealed and plain values of writes under way, by key: feeds need not open them."""
        self._order: dict[str, DeferredLock] = {}
        """Locks of writes that wait for a data key, by key, to keep their order."""
        self._stale: set[str] = set()
        self._deliveries: set[Deliveries] = set()
        self._shows_replaced = False

    @property
    def shared(self) -> bool:
        """Report `Store.shared` of the inner store; the methods below are those of `Store`."""
        return self._store.shared

    @property
    def looks_back(self) -> int:
        """The inner store's `Store.looks_back`."""
        return self._store.looks_back

    def current(self) -> bool:
        return self._store.current() and not any(each.busy for each in self._deliveries)

    @property
    def dependencies(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {**self._store.dependencies, **self._services}

    def metrics(self) -> Iterable[ShownFamily[Any]]:
        return (*self._store.metrics(), *self._transformers.metrics.families())

    def probe(self) -> None:
        self._store.probe()

    def release(self) -> None:
        self._store.release()

    def size_bytes(self) -> int:
        return self._store.size_bytes()

    def sizes(self) -> Mapping[str, int]:
        return self._store.sizes()

    def show_replaced(self) -> None:
        self._shows_replaced = True
        self._store.show_replaced()

    async def start(self) -> None:
        await self._store.start()

    async def stop(self) -> None:
        await self._store.stop()

    def remembers(self, known: Callable[[], Iterable[str]]) -> None:
        self._store.remembers(known)

    async def revision(self) -> int:
        return await self._store.revision()

    async def compact(self, revision: int) -> None:
        await self._store.compact(revision)

    async def check(self) -> None:
        await self._store.check()

    async def alive(self) -> None:
        await self._store.alive()

    def outdated(self, key: str) -> bool:
        return key in self._stale

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        found = await self._store.get(key, revision)
        if found is None:
            return None
        try:
            opened = await with_keys(partial(self._open, key, found.value))
        except Unreadable as problem:
            raise InternalError.unreadable(key, str(problem)) from None
        if not revision:
            self._note(key, opened)
        return msgspec.structs.replace(found, value=opened.value)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        page = await self._store.list(prefix, revision=revision, limit=limit, start=start)
        return await self._opened_page(page, noted=not revision)

    async def scan(self, prefix: str, *, revision: int = 0, wanted: Wanted = None) -> AsyncIterator[Page]:
        async for page in self._store.scan(prefix, revision=revision, wanted=wanted):
            yield await self._opened_page(page)

    async def _opened_page(self, page: Page, *, noted: bool = True) -> Page:
        """Return a page with its values opened.

        `noted`: they are the present values, whose state is noted for `outdated`.
        """
        items, closed = [], []
        for item in page.items:
            try:
                opened = await with_keys(partial(self._open, item.key, item.value))
            except Unreadable as problem:
                closed.append(Damaged(item.key, item.revision, str(problem)))
            else:
                if noted:
                    self._note(item.key, opened)
                items.append(
                    item if opened.value is item.value else msgspec.structs.replace(item, value=opened.value)
                )
        return msgspec.structs.replace(page, items=items, damaged=(*page.damaged, *closed))

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        transformer = self._transformers.of(op.key)
        if transformer is PLAIN:
            return self._hand_on(op, None)
        if op.key not in self._order:
            try:
                return self._commit(op, self._sealed(transformer, op))
            except KeyMissing:
                pass
        return Deferred.fromCoroutine(self._commit_in_turn(transformer, op))

    def replace(self, ops: Sequence[Op], revision: int) -> Deferred[int]:
        return Deferred.fromCoroutine(self._replace(ops, revision))

    async def _replace(self, ops: Sequence[Op], revision: int) -> int:
        """Seal all values, then replace; writes that are made meanwhile show in the revision."""
        sealed = [await self._sealed_op(op) for op in ops]
        pairs = [(op.key, (op.value, plain.value)) for op, plain in zip(sealed, ops, strict=True)
                 if op.value is not None and plain.value is not None]  # fmt: skip
        for key, pair in pairs:
            self._written.setdefault(key, []).append(pair)
        try:
            reached = await self._store.replace(sealed, revision)
        finally:
            for key, pair in pairs:
                self._forget_pair(key, pair)
        if reached:
            for op in ops:
                self._settled(op.key)
            for each in [each for each in self._deliveries if each.busy]:
                await each.told()
        return reached

    async def _sealed_op(self, op: Op) -> Op:
        transformer = self._transformers.of(op.key)
        if transformer is PLAIN or op.value is None:
            return op
        try:
            value = await with_keys(partial(self._sealed, transformer, op))
        except Unreadable as problem:
            raise InternalError.unreadable(op.key, str(problem)) from None
        return msgspec.structs.replace(op, value=value)

    def _forget_pair(self, key: str, pair: tuple[bytes, bytes]) -> None:
        pairs = self._written[key]
        pairs.remove(pair)
        if not pairs:
            del self._written[key]

    async def _commit_in_turn(self, transformer: Transformer, op: Op) -> WriteOutcome:
        """Seal and commit a write that needs a data key; later ones of its key wait for it, to keep their order."""
        lock = self._order.setdefault(op.key, DeferredLock())
        await lock.acquire()
        try:
            sealed = await with_keys(partial(self._sealed, transformer, op))
            answer = self._commit(op, sealed)
        except Unreadable as problem:
            raise InternalError.unreadable(op.key, str(problem)) from None
        finally:
            if not lock.waiting:
                del self._order[op.key]
            lock.release()
        return await answer

    @staticmethod
    def _sealed(transformer: Transformer, op: Op) -> bytes | None:
        return None if op.value is None else transformer.seal(op.value, op.key.encode())

    def _commit(self, op: Op, sealed: bytes | None) -> Deferred[WriteOutcome]:
        """Pass a sealed write to the inner store."""
        if sealed is None or op.value is None:
            return self._hand_on(op, None)
        pair = (sealed, op.value)
        self._written.setdefault(op.key, []).append(pair)
        return self._hand_on(Op(op.key, sealed, op.expected, op.note, op.ttl_s, op.guard), pair)

    def _hand_on(self, op: Op, pair: tuple[bytes, bytes] | None) -> Deferred[WriteOutcome]:
        answer = self._store.commit(op)
        answer.addBoth(self._ended, op.key, pair)
        return answer

    def _ended(
        self, outcome: WriteOutcome | Failure, key: str, pair: tuple[bytes, bytes] | None
    ) -> WriteOutcome | Failure | Deferred[WriteOutcome]:
        if pair is not None:
            self._forget_pair(key, pair)
        if isinstance(outcome, Failure):
            return outcome
        if outcome.revision:
            self._settled(key)
        # Feeds get the change before the writer is answered, even if they wait for data keys.
        busy = [each for each in self._deliveries if each.busy]
        if not busy and outcome.current is None:
            return outcome
        return Deferred.fromCoroutine(self._answer(outcome, busy))

    async def _answer(self, outcome: WriteOutcome, busy: Sequence[Deliveries]) -> WriteOutcome:
        for deliveries in busy:
            await deliveries.told()
        if outcome.current is None:
            return outcome
        current = outcome.current
        try:
            value = (await with_keys(partial(self._open, current.key, current.value))).value
        except Unreadable:
            value = b""
        return WriteOutcome(outcome.revision, msgspec.structs.replace(current, value=value))

    async def keep(self, key: str, value: bytes, life_s: float) -> KeptValue:
        """Keep a value, as `Store.keep`; such values announce servers, and are never sealed."""
        return await self._store.keep(key, value, life_s)

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        deliveries = Deliveries(self._opened_change, deliver, self._deliveries.discard)
        self._deliveries.add(deliveries)
        try:
            return deliveries.of(await self._store.subscribe(after_revision, deliveries.take))
        except BaseException:
            deliveries.stop()
            raise

    def _opened_change(self, change: Change) -> Change:
        """Decrypt the value of a change. Raises KeyMissing."""
        key, value, previous = change.key, change.value, change.previous
        note = change.note
        if previous is not None and previous.value:
            value_before = b""
            if self._shows_replaced:
                with suppress(Unreadable):
                    value_before = self._opened(key, previous.value).value
            previous = KeyValue(key, value_before, previous.revision, previous.create_revision)
        opened = Opened(b"", stale=False)
        if value is not None:
            try:
                opened = self._opened(key, value)
                value = opened.value
            except Unreadable as problem:
                note = Locked(str(problem))
        self._note(key, opened)
        return Change(change.revision, key, value, previous, note)

    def _opened(self, key: str, value: bytes) -> Opened:
        for sealed, plain in self._written.get(key, ()):
            if sealed == value:
                return Opened(plain, stale=False)
        return self._open(key, value)

    def _open(self, key: str, value: bytes) -> Opened:
        return self._transformers.of(key).open(value, key.encode())

    def _note(self, key: str, opened: Opened) -> None:
        if opened.stale:
            self._stale.add(key)
        elif self._stale:
            self._settled(key)

    def _settled(self, key: str) -> None:
        """Note that a value is gone or sealed by the first provider; after the last one forget older states."""
        if key in self._stale:
            self._stale.remove(key)
            if not self._stale:
                Deferred.fromCoroutine(self._forget_older())

    async def _forget_older(self) -> None:
        try:
            revision = await self._store.revision()
            await self._store.compact(revision)
        except Exception as error:  # noqa: BLE001 - the store compacts by itself before long
            self._log.warn("encryption: failed to compact older states: {why}", why=str(error))
        else:
            self._log.info(
                "encryption: every value is stored as the first provider of its resource writes it; older states, "
                "up to revision {revision}, have been forgotten",
                revision=revision,
            )
