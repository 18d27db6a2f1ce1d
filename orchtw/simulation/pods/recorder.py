"""Events about pods, as their nodes' agents report them, written in the background (reference SIM-23)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec
from twisted.internet.defer import Deferred

from orchtw.client.interface import Client
from orchtw.client.work_queue import WorkQueue
from orchtw.controllers.controller import ControllerHost
from orchtw.simulation.correlation import CorrelatingRecorder
from orchtw.wire.objects import Object

AT_A_TIME: Final = 8
REMEMBERED: Final = 8_192
"""Events of a reason in ONCE that are remembered."""
INVALID: Final = "InvalidAnnotation"
ONCE: Final = frozenset({INVALID})
"""Reasons of findings that every look at the pod repeats."""


class Report(msgspec.Struct, frozen=True):
    """One event about a pod: `field` is the path of its container, or empty."""

    namespace: str
    pod: str
    uid: str
    host: str
    type: str
    reason: str
    message: str
    field: str = ""

    @property
    def involved(self) -> Object:
        """Return the reference to the pod, or to its container."""
        about: Object = {"kind": "Pod", "apiVersion": "v1", "namespace": self.namespace, "name": self.pod}
        return about | {"uid": self.uid, **({"fieldPath": self.field} if self.field else {})}


class PodEvents:
    """Writes events in the background; those that are refused, or are too many, are dropped.

    `now` is the simulated time, which the events bear; `takes` tells whether one more of a type may be written.
    """

    def __init__(
        self, client: Client, host: ControllerHost, now: Callable[[], float], takes: Callable[[str], bool]
    ) -> None:
        self._recorder = CorrelatingRecorder(client, host.naming.node_agent, now)
        self._takes = takes
        self._once: OrderedDict[Report, None] = OrderedDict()
        self.queue: WorkQueue[Report] = WorkQueue(
            self._write, host.clock, host.random, name="simulated-events", concurrency=AT_A_TIME
        )

    def start(self) -> None:
        """Begin to write the events that are reported."""
        self.queue.start()

    def stop(self) -> Deferred[None]:
        """Stop writing; fires when nothing is being written any more."""
        return Deferred.fromCoroutine(self.queue.stop())

    def report(self, report: Report) -> None:
        """Write an event soon, unless there are too many; one of a reason in ONCE only if it is new."""
        if report in self._once or not self._takes(report.type):  # so many that the queue is not to see them all
            return
        if report.reason in ONCE:
            self._once[report] = None
            if len(self._once) > REMEMBERED:
                self._once.popitem(last=False)
        self.queue.add(report)

    async def _write(self, report: Report) -> float | None:
        await self._recorder.record(report.involved, report.type, report.reason, report.message, host=report.host)
        return None
