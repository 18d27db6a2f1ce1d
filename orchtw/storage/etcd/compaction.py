"""Periodic compaction, each time by one of several servers (reference STORE-32).

The key `compact_rev_key` holds the revision of the last one; the server that updates it does the work. Servers that
are not ours take part in the same way.
"""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.defer import Deferred

from orchtw.outbound.grpc.status import RpcError
from orchtw.storage.etcd.calls import Calls, Compare, RequestOp, TxnRequest
from orchtw.storage.etcd.status import COMPACTED

KEY: Final = b"compact_rev_key"


class Compactor:
    """Compactor whose `turn`, once an interval, compacts up to the revision of the turn before."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._version = 0
        self._revision = 0

    async def turn(self) -> bool:
        """Note the revision; compact to that of the last turn, unless another server does. Return whether it did.

        Raises RpcError.
        """
        mark = self._revision
        answer = await self._claim(mark)
        self._revision = answer.header.revision
        if not answer.succeeded:
            pairs = answer.responses[0].response_range.kvs
            self._version = pairs[0].version if pairs else 0
            return False
        self._version += 1
        if mark:
            await compact(self._calls, mark)
        return mark > 0

    async def _claim(self, mark: int) -> Any:
        waiting: Deferred[Any] = Deferred()
        request = TxnRequest(
            compare=[Compare(target=Compare.VERSION, key=KEY, version=self._version)],
            success=[RequestOp(request_put={"key": KEY, "value": b"%d" % mark})],
            failure=[RequestOp(request_range={"key": KEY})],
        )
        self._calls.txn(request, waiting.callback)
        answer = await waiting
        if isinstance(answer, RpcError):
            raise answer
        return answer


async def compact(calls: Calls, revision: int) -> None:
    """Compact the history before `revision`, if that has not been done already. Raises RpcError."""
    try:
        await calls.compact(revision)
    except RpcError as error:
        if COMPACTED not in error.text:
            raise
