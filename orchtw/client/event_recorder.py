"""Recorder of Events, by which controllers report to users."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

from orchtw.client.interface import Client
from orchtw.errors import StatusError
from orchtw.registry.system_metadata import rfc3339
from orchtw.wire.objects import Object

NAMESPACE_OF_CLUSTER = "default"
"""Namespace of events about cluster-scoped objects (reference KIND-31)."""

MESSAGE_LIMIT = 1024
"""Limit of a message's characters."""


class EventRecorder:
    """Writes Events under one component's name; a rejected one is logged, never raised."""

    _log = Logger()

    def __init__(self, client: Client, component: str, now: Callable[[], float]) -> None:
        self._client = client
        self._component = component
        self._now = now
        self._count = 0

    async def record(self, involved: Object, event_type: str, reason: str, message: str) -> None:
        """Write one event about an object, given by its `kind`, `apiVersion` and metadata's identity."""
        namespace = involved.get("namespace") or NAMESPACE_OF_CLUSTER
        time_s = self._now()
        self._count += 1
        event = {
            "metadata": {
                "name": f"{involved['name'][:200]}.{int(time_s * 1e9) + self._count:x}",
                "namespace": namespace,
            },
            "involvedObject": involved,
            "reason": reason,
            "message": message[:MESSAGE_LIMIT],
            "source": {"component": self._component},
            "firstTimestamp": rfc3339(int(time_s)),
            "lastTimestamp": rfc3339(int(time_s)),
            "count": 1,
            "type": event_type,
        }
        try:
            await self._client.create(self._client.resource("", "v1", "events"), namespace, event)
        except (StatusError, KeyError) as error:
            self._log.warn(
                "failed to record event {reason} on {name}: {error}",
                reason=reason,
                name=involved["name"],
                error=error,
            )
