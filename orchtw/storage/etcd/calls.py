"""Requests to a cluster, as messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred

from orchtw.storage.etcd.channel import CALL_S, Channel
from orchtw.storage.etcd.messages import message
from orchtw.storage.etcd.status import RpcError

RANGE, TXN, COMPACT = (f"/etcdserverpb.KV/{method}" for method in ("Range", "Txn", "Compact"))
WATCH: Final = "/etcdserverpb.Watch/Watch"
LEASE_GRANT, LEASE_LEFT, LEASE_KEEP, LEASE_REVOKE = (
    f"/etcdserverpb.Lease/{method}" for method in ("LeaseGrant", "LeaseTimeToLive", "LeaseKeepAlive", "LeaseRevoke")
)
STATUS, ALARM = (f"/etcdserverpb.Maintenance/{method}" for method in ("Status", "Alarm"))

RangeRequest, RangeResponse = message("RangeRequest"), message("RangeResponse")
TxnRequest, TxnResponse = message("TxnRequest"), message("TxnResponse")
CompactionRequest, CompactionResponse = message("CompactionRequest"), message("CompactionResponse")
WatchRequest, WatchResponse = message("WatchRequest"), message("WatchResponse")
LeaseGrantRequest, LeaseGrantResponse = message("LeaseGrantRequest"), message("LeaseGrantResponse")
LeaseLeftRequest, LeaseLeftResponse = message("LeaseTimeToLiveRequest"), message("LeaseTimeToLiveResponse")
LeaseKeepRequest, LeaseKeepResponse = message("LeaseKeepAliveRequest"), message("LeaseKeepAliveResponse")
LeaseRevokeRequest, LeaseRevokeResponse = message("LeaseRevokeRequest"), message("LeaseRevokeResponse")
StatusRequest, StatusResponse = message("StatusRequest"), message("StatusResponse")
AlarmRequest, AlarmResponse = message("AlarmRequest"), message("AlarmResponse")
Compare, RequestOp = message("Compare"), message("RequestOp")


class Calls:
    """The unary calls; all raise RpcError."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def range(self, **fields: Any) -> Deferred[Any]:
        """A RangeResponse: what stands in a range of keys, no older than any write that was acknowledged."""
        return self._ask(RANGE, RangeRequest(**fields), RangeResponse, safe=True)

    def reached(self, key: bytes, timeout_s: float) -> Deferred[Any]:
        """A RangeResponse without keys: the cluster answers for a key, and has a leader, within so many seconds."""
        request = RangeRequest(key=key, count_only=True)
        return self._ask(RANGE, request, RangeResponse, safe=True, timeout_s=timeout_s)

    def txn(self, request: Any, done: Callable[[Any], None]) -> None:
        """Have `done` called with the TxnResponse, or an RpcError."""

        def decoded(answer: bytes | RpcError) -> None:
            done(answer if isinstance(answer, RpcError) else TxnResponse.FromString(answer))

        self._channel.call(TXN, request.SerializeToString(), decoded)

    def compact(self, revision: int) -> Deferred[Any]:
        """Forget what was before `revision`."""
        request = CompactionRequest(revision=revision)
        return self._ask(COMPACT, request, CompactionResponse, safe=True, timeout_s=COMPACT_S)

    def grant(self, ttl_s: int) -> Deferred[Any]:
        """Return a Deferred of a LeaseGrantResponse."""
        return self._ask(LEASE_GRANT, LeaseGrantRequest(TTL=ttl_s), LeaseGrantResponse, safe=True)

    def left(self, lease: int) -> Deferred[Any]:
        """A LeaseTimeToLiveResponse: how long a lease lasts from now on."""
        return self._ask(LEASE_LEFT, LeaseLeftRequest(ID=lease), LeaseLeftResponse, safe=True)

    def keep(self, lease: int) -> Deferred[Any]:
        """A LeaseKeepAliveResponse: a lease lasts its whole time from now on. A stream of one question."""
        return self._ask(LEASE_KEEP, LeaseKeepRequest(ID=lease), LeaseKeepResponse, safe=True)

    def revoke(self, lease: int) -> Deferred[Any]:
        """A LeaseRevokeResponse: a lease is over, and all that it held is deleted."""
        return self._ask(LEASE_REVOKE, LeaseRevokeRequest(ID=lease), LeaseRevokeResponse, safe=True)

    def status(self) -> Deferred[Any]:
        """The StatusResponse of the member that is asked."""
        return self._ask(STATUS, StatusRequest(), StatusResponse, safe=True)

    def alarms(self) -> Deferred[Any]:
        """The AlarmResponse: all alarms of the cluster that are on."""
        return self._ask(ALARM, AlarmRequest(), AlarmResponse, safe=True)

    def _ask(
        self, path: str, request: Any, response: Any, *, safe: bool, timeout_s: float = CALL_S
    ) -> Deferred[Any]:
        waiting: Deferred[Any] = Deferred(lambda cancelled: None)

        def done(answer: bytes | RpcError) -> None:
            if waiting.called:
                return
            if isinstance(answer, RpcError):
                waiting.errback(answer)
            else:
                waiting.callback(response.FromString(answer))

        self._channel.call(path, request.SerializeToString(), done, timeout_s=timeout_s, safe=safe)
        return waiting


COMPACT_S: Final = 60.0
"""To forget the past of a large store takes a while."""
