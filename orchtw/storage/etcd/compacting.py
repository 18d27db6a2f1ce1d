"""Forgetting the past: one of several servers does it each time (reference STORE-32).

The key `compact_rev_key` says how far the last one went; who has changed it last does the work. Servers that are not
ours take part in the same way.
"""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.defer import Deferred

from orchtw.storage.etcd.calls import Calls, Compare, RequestOp, TxnRequest
from orchtw.storage.etcd.status import COMPACTED, RpcError

KEY: Final = b"compact_rev_key"


class Compactor:
    """`turn` is called once an interval: it forgets what was over by the turn before."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._version = 0
        self._revision = 0

    async def turn(self) -> bool:
        """Note the revision; compact to that of the last turn, unless another server does, and say whether.

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
    """Forget what was before `revision`; if that has been done already, nothing happens. Raises RpcError."""
    try:
        await calls.compact(revision)
    except RpcError as error:
        if COMPACTED not in error.text:
            raise
