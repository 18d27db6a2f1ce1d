"""Reads: single keys, lists page by page, and the revision, with one request for many readers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchtw.errors import BadRequest, Timeout
from orchtw.outbound.grpc.status import RpcError
from orchtw.storage.etcd.calls import Calls
from orchtw.storage.etcd.keys import EtcdKeys
from orchtw.storage.etcd.scanning import FIRST_PAGE, MOST_A_PAGE, PAGE_BYTES, Scan
from orchtw.storage.etcd.status import TO_COME, status_of
from orchtw.storage.store import KeyValue, Page

KEYS_A_PAGE: Final = 5000
LARGEST: Final = (1 << 63) - 1


class Reading:
    """Reads of the cluster's present and past states."""

    def __init__(self, calls: Calls, keys: EtcdKeys) -> None:
        self._calls = calls
        self._keys = keys
        self._asking = False
        self._asked: list[Deferred[int]] = []  # by callers that came while a request was under way
        self._item_bytes = PAGE_BYTES // FIRST_PAGE
        self._last = ("", 0)  # prefix and revision of the last list

    async def get(self, key: str, revision: int) -> KeyValue | None:
        """Implement `Store.get` for this store."""
        try:
            raw = self._keys.stored(key)
        except BadRequest:
            return None
        found = await self._range(revision, key=raw)
        return self.shown(found.kvs[0]) if found.kvs else None

    async def get_raw(self, raw: bytes) -> bytes | None:
        """Return the value of one of the store's own keys, or None."""
        found = await self._range(0, key=raw)
        return found.kvs[0].value if found.kvs else None

    async def list(self, prefix: str, revision: int, limit: int, start: str) -> Page:
        """Implement `Store.list` for this store."""
        first, end = self._keys.range(prefix, start)
        if first >= end != b"\0":
            return Page([], revision or await self.revision())
        if self._last != (prefix, revision):
            self._item_bytes = PAGE_BYTES // FIRST_PAGE  # the size of values here is unknown
        items: list[KeyValue] = []
        while True:
            most = max(1, min(MOST_A_PAGE, PAGE_BYTES // self._item_bytes))
            wanted = min(most, limit - len(items)) if limit else most
            found = await self._range(revision, key=first, range_end=end, limit=wanted)
            revision = revision or found.header.revision
            self._last = prefix, revision
            self._learn(found)
            items += [self.shown(pair) for pair in found.kvs if pair.key not in self._keys.own]
            rest = found.count - len(found.kvs)
            if not rest or (limit and len(items) >= limit):
                return Page(items, revision, rest > 0, rest)
            first = found.kvs[-1].key + b"\0"

    async def scan(self, prefix: str, revision: int) -> AsyncIterator[Page]:
        """Implement `Store.scan` for this store."""
        first, end = self._keys.range(prefix, "")
        if first >= end != b"\0":
            yield Page([], revision or await self.revision())
            return
        async for page in Scan(self._range, self._shown, first, end, revision).pages():
            yield page

    def _shown(self, pair: Any) -> KeyValue | None:
        return None if pair.key in self._keys.own else self.shown(pair)

    async def revision(self) -> int:
        """Return the revision, as `Store.revision`: one request for all waiting callers, sent after they came."""
        waiting: Deferred[int] = Deferred()
        self._asked.append(waiting)
        if not self._asking:
            self._ask_revision()
        return await waiting

    async def compacted(self, revision: int) -> None:
        """Check that a revision is readable. Raises Expired (410) if compacted, Timeout (504) if in the future."""
        if revision:
            await self._range(revision, key=self._keys.sentinel, count_only=True)

    async def written_since(self, after: int) -> tuple[Sequence[KeyValue], set[str], int]:
        """Return live values written after a revision, in order; all live keys; and the revision."""
        revision = await self.revision()
        left = {self._keys.shown(pair.key) async for pair in self._pairs(revision)}
        keys, end = self._keys, self._keys.end
        written: list[KeyValue] = []
        first, more, since = keys.first, True, after + 1
        while more:
            found = await self._range(revision, key=first, range_end=end, limit=FIRST_PAGE, min_mod_revision=since)
            written += [self.shown(pair) for pair in found.kvs if pair.key not in keys.own]
            first, more = found.kvs[-1].key + b"\0" if found.kvs else end, found.more
        return sorted(written, key=lambda item: item.revision), left, revision

    async def seconds_left(self, revision: int) -> dict[int, int]:
        """Return the remaining seconds of expiring values, by the revision of their write."""
        leases: dict[int, list[int]] = {}
        async for pair in self._pairs(revision):
            if pair.lease:
                leases.setdefault(pair.lease, []).append(pair.mod_revision)
        left: dict[int, int] = {}
        for lease, revisions in leases.items():
            seconds = max(0, (await self._calls.left(lease)).TTL)
            left.update(dict.fromkeys(revisions, seconds))
        return left

    async def _pairs(self, revision: int) -> AsyncIterator[Any]:
        """Yield all keys at a revision, without their values."""
        first, more = self._keys.first, True
        while more:
            found = await self._range(
                revision, key=first, range_end=self._keys.end, limit=KEYS_A_PAGE, keys_only=True
            )
            for pair in found.kvs:
                yield pair
            more = found.more and bool(found.kvs)
            if more:
                first = found.kvs[-1].key + b"\0"

    def shown(self, pair: Any) -> KeyValue:
        """Return a key and its value in the form for readers."""
        return KeyValue(self._keys.shown(pair.key), pair.value, pair.mod_revision, pair.create_revision)

    def _learn(self, found: Any) -> None:
        """Learn the average size of values."""
        if found.kvs:
            self._item_bytes = max(1, found.ByteSize() // len(found.kvs))

    def _ask_revision(self) -> None:
        self._asking = True
        asked, self._asked = self._asked, []
        self._calls.range(key=self._keys.sentinel, count_only=True).addBoth(self._answer_revision, asked)

    def _answer_revision(self, found: Any, asked: Sequence[Deferred[int]]) -> None:
        self._asking = False
        if self._asked:
            self._ask_revision()
        error = found.value if isinstance(found, Failure) else None
        for waiting in asked:
            if waiting.called:
                continue
            if error is None:
                waiting.callback(found.header.revision)
            else:
                waiting.errback(status_of(error) if isinstance(error, RpcError) else error)

    async def _range(self, revision: int, **fields: Any) -> Any:
        if revision > LARGEST:
            raise Timeout.future_version(revision, await self.revision())
        try:
            return await self._calls.range(revision=revision, **fields)
        except RpcError as error:
            if TO_COME in error.text:
                raise Timeout.future_version(revision, await self.revision()) from None
            raise status_of(error) from None
