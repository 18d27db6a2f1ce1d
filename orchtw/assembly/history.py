"""The record of writes, where the flags ask for it: its package is imported here and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from orchtw.assembly.foundation import Foundation
from orchtw.endpoints.paths import Endpoint
from orchtw.metrics.series import ShownFamily
from orchtw.writes.steps import Annotate


class RecorderPart(Protocol):
    """Recorder, as the lifecycle, the metrics and faults on demand see it: a `FaultRecord`, whose module is late."""

    @property
    def position(self) -> int:
        """Number of the next entry."""

    def struck(self, fault: Any, since: int) -> None:
        """Record a `StruckFault`, unless its request has stored something in an entry from number `since` on."""

    async def start(self, revision: int) -> None:
        """Record every write after a revision, before there is one."""

    def families(self) -> Iterable[ShownFamily[Any]]:
        """Return the metrics of the record."""


class Recording(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of the record: `annotate` is for the write path, `endpoint` serves what `recorder` has."""

    recorder: RecorderPart
    annotate: Annotate
    endpoint: Endpoint


def recording(base: Foundation) -> Recording | None:
    """Return the record of writes, or None if the flags do without it."""
    options, resources = base.config.history, base.resources
    if not options.enabled:
        return None
    from orchtw.history.endpoint import HistoryEndpoint
    from orchtw.history.origin import noted
    from orchtw.history.recorder import Recorder

    store, targets, cacher = resources.store, resources.targets, resources.cacher
    recorder = Recorder(store, targets, resources.naming, cacher.turns, time.time, options.max_bytes)
    endpoint = HistoryEndpoint(recorder, cacher, store, targets, resources.offload)
    return Recording(recorder=recorder, annotate=noted, endpoint=endpoint)
