"""The vocabulary of the objects below a prefix: recorded beside them, or recognised from stored values.

Keys are the same in both vocabularies, values are not. Objects in a cluster are never rewritten: servers of the other
vocabulary are rejected (reference VOC-8).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw.errors import ConfigError
from orchtw.outbound.grpc.status import RpcError
from orchtw.storage.etcd.calls import Calls, RequestOp, TxnRequest
from orchtw.storage.etcd.keys import EtcdKeys
from orchtw.storage.etcd.reading import Reading
from orchtw.storage.etcd.writing import MOD
from orchtw.storage.store import Evidence

SHOWN: Final = 40
"""Number of characters of a record that an error message shows: an operator may have written anything."""


class Told(msgspec.Struct):
    """Counts of recognised objects and the first key, by vocabulary; `closed`: the first unreadable value."""

    objects: Counter[str] = msgspec.field(default_factory=Counter)
    first: dict[str, str] = msgspec.field(default_factory=dict)
    closed: str = ""


class Vocabulary:
    """The record of one prefix."""

    _log = Logger()

    def __init__(self, calls: Calls, reading: Reading, keys: EtcdKeys) -> None:
        self._calls = calls
        self._reading = reading
        self._keys = keys
        self._where = f"--etcd-prefix: {keys.first.decode().rstrip('/')}"

    async def known(self, evidence: Evidence | None) -> str:
        """Return the vocabulary as recorded or as recognised; empty if it is neither.

        Raises ConfigError if there are objects of both, or if the objects that show it cannot be read.
        """
        return await self.recorded() or await self._of_objects(evidence)

    async def settle(self, wanted: str, evidence: Evidence | None) -> bool:
        """Record `wanted` unless the objects are of another vocabulary; return True if this call wrote the record.

        Raises ConfigError if they are, as `known` does, and if the record of a new store cannot be written.
        """
        recorded = await self.recorded()
        found = recorded or await self._of_objects(evidence)
        if found and found != wanted:
            raise self._other(found)
        if recorded:
            return False
        try:
            return await self._record(wanted)
        except RpcError as problem:
            if not found:
                raise ConfigError(f"--etcd-servers: {problem.text}") from None
            self._log.warn("the vocabulary could not be recorded: {why}", why=problem.text)
            return False

    async def forget(self) -> None:
        """Remove the record of a prefix that holds no objects."""
        request = TxnRequest(success=[RequestOp(request_delete_range={"key": self._keys.vocabulary})])
        await self._txn(request)

    async def recorded(self) -> str:
        """Return the record; empty if there is none. Raises StatusError."""
        found = await self._reading.get_raw(self._keys.vocabulary)
        return "" if found is None else _text(found)

    async def _record(self, vocabulary: str) -> bool:
        """Write the record if there is none. Raises ConfigError if a server of another vocabulary was faster."""
        key = self._keys.vocabulary
        request = TxnRequest(
            success=[RequestOp(request_put={"key": key, "value": vocabulary.encode()})],
            failure=[RequestOp(request_range={"key": key})],
        )
        compare = request.compare.add()
        compare.target, compare.key, compare.mod_revision = MOD, key, 0
        answer = await self._txn(request)
        if answer.succeeded:
            return True
        there = _text(answer.responses[0].response_range.kvs[0].value)
        if there != vocabulary:
            raise self._other(there)
        return False

    def _txn(self, request: Any) -> Deferred[Any]:
        waiting: Deferred[Any] = Deferred()

        def answered(answer: Any) -> None:
            if isinstance(answer, RpcError):
                waiting.errback(answer)
            else:
                waiting.callback(answer)

        self._calls.txn(request, answered)
        return waiting

    async def _of_objects(self, evidence: Evidence | None) -> str:
        """Return the vocabulary that all objects agree on; empty if none shows it. Raises ConfigError."""
        told = Told() if evidence is None else await self._look(evidence)
        if len(told.objects) > 1:
            counts = " and ".join(
                f"{count} of {name} (such as {told.first[name]})" for name, count in sorted(told.objects.items())
            )
            record = self._keys.vocabulary.decode()
            raise ConfigError(
                f"{self._where} does not record its --vocabulary and holds objects of both, {counts}; "
                f"decide with `etcdctl put {record} NAME`; objects of the other vocabulary stay unreadable"
            )
        if told.closed and not told.objects:
            why = f"the objects that would show it cannot be read: {told.closed}"
            raise ConfigError(f"{self._where} does not record its --vocabulary, and {why}")
        return next(iter(told.objects), "")

    async def _look(self, evidence: Evidence) -> Told:
        """Return the findings on every object that shows its vocabulary; needed once in the life of a store."""
        told = Told()
        for prefix in evidence.prefixes:
            async for page in self._reading.scan(prefix, 0):
                for item in page.items:
                    try:
                        found = await evidence.vocabulary(item.key, item.value)
                    except ValueError as problem:
                        told.closed = told.closed or f"{item.key}: {problem}"
                        continue
                    if found:
                        told.objects[found] += 1
                        told.first.setdefault(found, item.key)
        return told

    def _other(self, vocabulary: str) -> ConfigError:
        return ConfigError(
            f"{self._where} was made with --vocabulary {vocabulary}, and objects in etcd are not rewritten; "
            "start with that, or use another --etcd-prefix"
        )


def _text(value: bytes) -> str:
    """Return a record as text that is fit for an error message."""
    return ascii(value.decode(errors="replace").strip()[:SHOWN])[1:-1] or "(empty)"
