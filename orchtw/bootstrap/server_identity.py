"""A Lease for each server, by which others know the servers (reference CTRL-40).

Unlike the records of `server_leases`, which hold the servers' addresses, these are objects of the API, and enabled by
a feature gate.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from orchtw.bootstrap.ensurer import Ensurer
from orchtw.rules.server_identity import is_of_server, labels_of_server
from orchtw.wire.objects import Object

LEASES: Final = ("coordination.orch.io", "v1", "leases")


class ServerIdentity:
    """The Lease of the server `server_id`; `now` is in seconds since the epoch."""

    def __init__(self, ensurer: Ensurer, server_id: str, duration_s: int, now: Callable[[], float]) -> None:
        self.server_id = server_id
        self._ensurer = ensurer
        self._duration_s = duration_s
        self._now = now

    async def renew(self) -> None:
        """Renew this server's Lease. Raises StatusError."""
        naming = self._ensurer.naming
        meta = {
            "name": self.server_id,
            "namespace": naming.system_namespace,
            "labels": labels_of_server(naming),
        }
        spec = {
            "holderIdentity": self.server_id,
            "leaseDurationSeconds": self._duration_s,
            "renewTime": datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="microseconds")[:-6] + "Z",
        }
        await self._ensurer.ensure_content(*LEASES, {"metadata": meta, "spec": spec})

    async def collect(self) -> None:
        """Remove the Leases of servers that have not renewed them in time. Raises StatusError."""
        naming, now = self._ensurer.naming, datetime.fromtimestamp(self._now(), UTC)
        group, version, plural = LEASES
        target = self._ensurer.targets.stored_target(naming.group(group), version, plural)
        for entry in list(target.stored.cache.snapshot(naming.system_namespace)):
            if is_of_server(entry.labels, naming) and _is_over(target.load(entry), now):
                await self._ensurer.remove(
                    *LEASES, entry.name, lambda live: _is_over(live, now), naming.system_namespace
                )


def _is_over(lease: Object, now: datetime) -> bool:
    """Report whether a Lease has expired, or has no expiry."""
    spec = lease.get("spec") or {}
    renewed, duration_s = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if not renewed or not duration_s:
        return True
    return datetime.fromisoformat(str(renewed)) + timedelta(seconds=int(duration_s)) < now
