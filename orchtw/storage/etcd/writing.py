"""Writes: one transaction each, many concurrently, those of one key in the order of the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
from twisted.internet.defer import Deferred

from orchtw.errors import StatusError
from orchtw.outbound.grpc.status import NOT_FOUND, RpcError
from orchtw.storage.etcd.calls import Calls, Compare, TxnRequest
from orchtw.storage.etcd.expiry import Leases
from orchtw.storage.etcd.keys import EtcdKeys
from orchtw.storage.etcd.status import status_of
from orchtw.storage.store import Guard, KeyValue, Op, WriteOutcome

MOD = Compare.MOD


class Write(msgspec.Struct, eq=False):
    """One write: its key in the cluster, its waiting caller, its lease, and the revision once committed."""

    op: Op
    raw: bytes
    waiting: Deferred[WriteOutcome]
    lease: int = 0
    revision: int = 0


class Writing:
    """Sender of writes; `committed` decides when a committed one is answered."""

    def __init__(
        self,
        calls: Calls,
        keys: EtcdKeys,
        leases: Leases,
        shown: Callable[[Any], KeyValue],
        committed: Callable[[Write], None],
    ) -> None:
        self._calls = calls
        self._keys = keys
        self._leases = leases
        self._shown = shown
        self._committed = committed
        self._queues: dict[str, deque[Write]] = {}
        """Writes by key: the one under way, and those that wait for it."""
        self._open: dict[str, list[Write]] = {}
        """Writes by key whose changes have not been seen yet."""
        self.ops = 0
        self.bytes = 0
        self._idle: list[Deferred[None]] = []

    def write(self, op: Op, raw: bytes, lease: int = 0) -> Deferred[WriteOutcome]:
        """Write `op`, whose key in the cluster is `raw`; the value expires with `lease`, unless that is 0."""
        write = Write(op, raw, Deferred(), lease)
        self.ops += 1
        self.bytes += len(op.value or b"")
        queue = self._queues.get(op.key)
        if queue is None:
            self._queues[op.key] = deque((write,))
            self._send(write)
        else:
            queue.append(write)
        return write.waiting

    def note(self, key: str, value: bytes | None, revision: int, replaced: int) -> object:
        """Return the note of our own write that caused a change; None if it is not ours.

        The change may come before the response to its write, which is then recognised by its value and expected
        revision.
        """
        for write in self._open.get(key, ()):
            op = write.op
            if write.revision:
                if write.revision == revision:
                    return op.note
            elif op.value == value and op.expected in (None, replaced):
                return op.note
        return None

    def answer(self, write: Write) -> None:
        """Answer a committed write now."""
        write.waiting.callback(WriteOutcome(write.revision))
        self._done(write)

    async def idle(self) -> None:
        """Wait until every write is answered."""
        if self.ops:
            waiting: Deferred[None] = Deferred()
            self._idle.append(waiting)
            await waiting

    def _send(self, write: Write) -> None:
        self._open.setdefault(write.op.key, []).append(write)
        if not write.op.ttl_s or write.op.value is None:
            self._ask(write)
            return
        write.lease = self._leases.held(write.op.ttl_s)
        if write.lease:
            self._ask(write)
        else:
            Deferred.fromCoroutine(self._ask_with_lease(write))

    async def _ask_with_lease(self, write: Write) -> None:
        try:
            write.lease = await self._leases.lease(write.op.ttl_s)
        except RpcError as error:
            self._failed(write, error)
        else:
            self._ask(write)

    def _ask(self, write: Write) -> None:
        op, raw = write.op, write.raw
        request = TxnRequest()
        if op.expected is not None:
            compare = request.compare.add()
            compare.target, compare.key, compare.mod_revision = MOD, raw, op.expected
            request.failure.add().request_range.key = raw
        if op.guard is not None:
            self._add_guard(request, op.guard)
        ask = request.success.add()
        if op.value is None:
            ask.request_delete_range.key = raw
        else:
            put = ask.request_put
            put.key, put.value, put.lease = raw, op.value, write.lease
        self._calls.txn(request, lambda answer: self._answered(write, answer))

    def _add_guard(self, request: Any, guard: Guard) -> None:
        """Add the guard to the comparisons, and read its key last if the transaction fails."""
        key = self._keys.stored(guard[0])
        compare = request.compare.add()
        compare.target, compare.key, compare.mod_revision = MOD, key, guard[1]
        found = request.failure.add().request_range
        found.key, found.keys_only = key, True

    def _answered(self, write: Write, answer: Any) -> None:
        if isinstance(answer, RpcError):
            if write.op.ttl_s and write.lease and answer.code == NOT_FOUND:
                self._leases.forget(write.lease)
                Deferred.fromCoroutine(self._ask_with_lease(write))
            else:
                self._failed(write, answer)
            return
        if not answer.succeeded:
            if write.op.guard is not None and _has_moved(answer, write.op.guard):
                self._refused(write, WriteOutcome(0, fenced=True))
                return
            pairs = answer.responses[0].response_range.kvs
            self._refused(write, WriteOutcome(0, self._shown(pairs[0]) if pairs else None))
        elif write.op.value is None and not answer.responses[0].response_delete_range.deleted:
            self._refused(write, WriteOutcome(0))
        else:
            write.revision = answer.header.revision
            self._next(write)
            self._committed(write)

    def _refused(self, write: Write, outcome: WriteOutcome) -> None:
        self._next(write)
        write.waiting.callback(outcome)
        self._done(write)

    def _failed(self, write: Write, error: RpcError) -> None:
        self._next(write)
        problem: StatusError = status_of(error)
        write.waiting.errback(problem)
        self._done(write)

    def _next(self, write: Write) -> None:
        """Send the next write of a key after one has been decided."""
        key = write.op.key
        queue = self._queues[key]
        queue.popleft()
        if queue:
            self._send(queue[0])
        else:
            del self._queues[key]

    def _done(self, write: Write) -> None:
        """Forget a write that has been answered."""
        key = write.op.key
        writes = self._open[key]
        if len(writes) == 1:
            del self._open[key]
        else:
            writes.remove(write)
        self.ops -= 1
        self.bytes -= len(write.op.value or b"")
        if not self.ops:
            idle, self._idle = self._idle, []
            for waiting in idle:
                waiting.callback(None)


def _has_moved(answer: Any, guard: Guard) -> bool:
    """Report whether the key of a guard, which a failed transaction ends with, has another revision."""
    pairs = answer.responses[-1].response_range.kvs
    return bool((pairs[0].mod_revision if pairs else 0) != guard[1])
