"""Requests to a cluster, as messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred

from orchtw.outbound.grpc.channel import CALL_S, Channel
from orchtw.outbound.grpc.status import RpcError
from orchtw.storage.etcd.messages import message

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
    """Unary calls; all raise RpcError."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def range(self, **fields: Any) -> Deferred[Any]:
        """Return a RangeResponse: the contents of a range of keys, no older than any acknowledged write."""
        return self._ask(RANGE, RangeRequest(**fields), RangeResponse, safe=True)

    def reached(self, key: bytes, timeout_s: float) -> Deferred[Any]:
        """Return a RangeResponse without keys: proof that the cluster has a leader and answers within the time."""
        request = RangeRequest(key=key, count_only=True)
        return self._ask(RANGE, request, RangeResponse, safe=True, timeout_s=timeout_s)

    def txn(self, request: Any, done: Callable[[Any], None]) -> None:
        """Send a transaction; `done` is called with the TxnResponse, or an RpcError."""

        def decoded(answer: bytes | RpcError) -> None:
            done(answer if isinstance(answer, RpcError) else TxnResponse.FromString(answer))

        self._channel.call(TXN, request.SerializeToString(), decoded)

    def compact(self, revision: int) -> Deferred[Any]:
        """Compact the history before `revision`."""
        request = CompactionRequest(revision=revision)
        return self._ask(COMPACT, request, CompactionResponse, safe=True, timeout_s=COMPACT_S)

    def grant(self, ttl_s: int) -> Deferred[Any]:
        """Return a LeaseGrantResponse for a new lease of so many seconds."""
        return self._ask(LEASE_GRANT, LeaseGrantRequest(TTL=ttl_s), LeaseGrantResponse, safe=True)

    def left(self, lease: int) -> Deferred[Any]:
        """Return a LeaseTimeToLiveResponse: the remaining time of a lease."""
        return self._ask(LEASE_LEFT, LeaseLeftRequest(ID=lease), LeaseLeftResponse, safe=True)

    def keep(self, lease: int) -> Deferred[Any]:
        """Return a LeaseKeepAliveResponse: the lease lasts its whole time from now on. A stream of one request."""
        return self._ask(LEASE_KEEP, LeaseKeepRequest(ID=lease), LeaseKeepResponse, safe=True)

    def revoke(self, lease: int) -> Deferred[Any]:
        """Revoke a lease, which deletes all of its keys; return a LeaseRevokeResponse."""
        return self._ask(LEASE_REVOKE, LeaseRevokeRequest(ID=lease), LeaseRevokeResponse, safe=True)

    def status(self) -> Deferred[Any]:
        """Return the StatusResponse of the connected member."""
        return self._ask(STATUS, StatusRequest(), StatusResponse, safe=True)

    def alarms(self) -> Deferred[Any]:
        """Return an AlarmResponse with all active alarms of the cluster."""
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
"""Time limit of a compaction in seconds: that of a large store takes a while."""
