"""Recorder of Events, by which controllers report to users."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from twisted.logger import Logger

from orchtw.client.interface import Client, Resource
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.errors import StatusError
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

NAMESPACE_OF_CLUSTER = "default"
"""Namespace of events about cluster-scoped objects (reference KIND-31)."""

MESSAGE_LIMIT = 1024
"""Limit of a message's characters."""


class EventRecorder:
    """Writes Events under one component's name; a rejected one is logged, never raised.

    In a namespace that is being deleted every event is rejected: that is not logged.
    """

    _log = Logger()
    _numbers = count(1)
    """Shared by all recorders: several may write about one object at one instant, mostly of a clock that stands."""

    def __init__(self, client: Client, component: str, now: Callable[[], float]) -> None:
        self._client = client
        self._component = component
        self._now = now

    async def record(
        self, involved: Object, event_type: str, reason: str, message: str, *, host: str = ""
    ) -> None:
        """Write one event about an object, given by its `kind`, `apiVersion` and metadata's identity.

        `host` is the node of the component, if it has one.
        """
        event = self._event(involved, event_type, reason, message, host)
        try:
            await self._create(event)
        except (StatusError, KeyError) as error:
            self._rejected(event, error)

    def _event(self, involved: Object, event_type: str, reason: str, message: str, host: str) -> Object:
        """Return a new event."""
        time_s = self._now()
        source = {"component": self._component, **({"host": host} if host else {})}
        return {
            "metadata": {
                "name": f"{involved['name'][:200]}.{int(time_s * 1e9) + next(self._numbers):x}",
                "namespace": involved.get("namespace") or NAMESPACE_OF_CLUSTER,
            },
            "involvedObject": involved,
            "reason": reason,
            "message": message[:MESSAGE_LIMIT],
            "source": source,
            "firstTimestamp": rfc3339(int(time_s)),
            "lastTimestamp": rfc3339(int(time_s)),
            "count": 1,
            "type": event_type,
        }

    async def _create(self, event: Object) -> None:
        await self._client.create(self._resource, event["metadata"]["namespace"], event, whole=False)

    @property
    def _resource(self) -> Resource:
        return self._client.resource("", "v1", "events")

    def _rejected(self, event: Object, error: Exception) -> None:
        if isinstance(error, StatusError) and ends_with_namespace(error):
            return
        self._log.warn(
            "failed to record event {reason} on {name}: {error}",
            reason=event["reason"],
            name=event["involvedObject"]["name"],
            error=error,
        )
