"""Health of the cluster: alarms, version, and size of its data."""

from __future__ import annotations

import re
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall

from orchtw.outbound.grpc.channel import Channel
from orchtw.outbound.grpc.status import RpcError
from orchtw.storage.etcd.calls import Calls
from orchtw.storage.etcd.messages import message
from orchtw.storage.etcd.status import EtcdFailure, status_of

KINDS: Final = message("AlarmMember")
TEXTS: Final = {
    KINDS.NOSPACE: "etcdserver: mvcc: database space exceeded",
    KINDS.CORRUPT: "etcdserver: corrupt cluster",
}
PERMISSION_DENIED: Final = 7

_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_ORDERLY: Final = {(3, 4): 25, (3, 5): 8}
"""Patch releases by version from which on progress is never reported before the changes up to it."""


class Health:
    """Health of the connected member, read at each connection and once an interval."""

    def __init__(self, calls: Calls, channel: Channel, clock: Any) -> None:
        self._calls = calls
        self._channel = channel
        self._timer = LoopingCall(self._look)
        self._timer.clock = clock
        self.trusts_progress = False
        self.sizes: dict[str, int] = {}

    def start(self, interval_s: float) -> None:
        """Start to read it once an interval; 0: only at each connection."""
        if interval_s:
            self._timer.start(interval_s, now=False)

    def stop(self) -> None:
        """Stop reading the cluster's health."""
        if self._timer.running:
            self._timer.stop()

    def connected(self) -> None:
        """Read the health at a new connection, perhaps to another member."""
        self.trusts_progress = False
        self._look()

    async def check(self) -> None:
        """Check for alarms. Raises StatusError if one is on; without permission to ask there are none."""
        try:
            found = await self._calls.alarms()
        except RpcError as error:
            if error.code == PERMISSION_DENIED:
                return
            raise status_of(error) from None
        for each in found.alarms:
            if each.alarm in TEXTS:
                raise EtcdFailure(TEXTS[each.alarm])

    def _look(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self._learn(self._channel.endpoint))

    async def _learn(self, endpoint: str) -> None:
        try:
            found = await self._calls.status()
        except RpcError:
            return  # the next attempt may succeed; nothing depends on this one
        if endpoint and endpoint == self._channel.endpoint:
            self.trusts_progress = orderly(found.version)
            self.sizes = {endpoint: found.dbSize}


def orderly(version: str) -> bool:
    """Report whether a member of this version reports progress only after the changes up to it."""
    found = _VERSION.match(version)
    if found is None:
        return False
    major, minor, patch = map(int, found.groups())
    return (major, minor) > (3, 5) or patch >= _ORDERLY.get((major, minor), patch + 1)
