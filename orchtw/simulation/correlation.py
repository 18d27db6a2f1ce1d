"""Recorder of Events that counts repeated ones and combines similar ones, as the release's controllers do."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.interface import Client
from orchtw.errors import NotFound, StatusError
from orchtw.wire.objects import Object

SIMILAR: Final = 10
"""Different messages of one reason about one object from which on they are combined."""
SIMILAR_S: Final = 600.0
"""Time after the last of them from which on they are new again."""
BURST: Final = 25
"""Events about one object that are written at once; one more for each REFILL_S."""
REFILL_S: Final = 300.0
REMEMBERED: Final = 4096
"""Objects and reasons that are remembered."""
COMBINED: Final = "(combined from similar events): "


class _Written:
    """An event of which the latest is written, and how many there have been; `busy`: a write is under way."""

    __slots__ = ("busy", "count", "latest", "stored", "told")

    def __init__(self, event: Object) -> None:
        self.latest = self.stored = event
        self.count = 0
        self.told = 0
        self.busy = False


class _Series:
    """Events of one reason about one object: those written, by message."""

    def __init__(self) -> None:
        self.last = 0.0
        self.written: dict[str, _Written] = {}


class CorrelatingRecorder(EventRecorder):
    """Writes few of many events: a repeated message counts up, the tenth of a kind stands for all that follow.

    About one object BURST are written at once, then one in REFILL_S; others are dropped, and so are those of a type
    of which `takes` says that no more may be written now.
    """

    def __init__(
        self,
        client: Client,
        component: str,
        now: Callable[[], float],
        takes: Callable[[str], bool] = lambda event_type: True,
    ) -> None:
        super().__init__(client, component, now)
        self._allowed = takes
        self._series: OrderedDict[tuple[str, str, str], _Series] = OrderedDict()
        self._tokens: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def record(
        self, involved: Object, event_type: str, reason: str, message: str, *, host: str = ""
    ) -> None:
        """Write an event about an object, or count it with an earlier one."""
        now = self._now()
        identity = involved.get("uid") or involved["name"]
        if not self._takes(identity, now) or not self._allowed(event_type):
            return
        series = self._series_of((identity, event_type, reason), now)
        event = self._event(involved, event_type, reason, message, host)
        key = event["message"]
        if key not in series.written and len(series.written) >= SIMILAR - 1:
            key, event["message"] = COMBINED, COMBINED + key
        known = series.written.setdefault(key, _Written(event))
        known.count += 1
        known.latest = event
        if known.busy:  # the write under way is followed by one of the latest event
            return
        known.busy = True
        try:
            await self._write(known)
        except (StatusError, KeyError) as error:
            series.written.pop(key, None)
            self._rejected(event, error)
        finally:
            known.busy = False

    async def _write(self, known: _Written) -> None:
        """Write an event until its count is the present one."""
        while known.told < known.count:
            count, event = known.count, known.latest
            if not known.told or not await self._counted(known.stored, event, count):
                known.stored = {**event, "count": count}
                await self._create(known.stored)
            known.told = count

    async def _counted(self, stored: Object, event: Object, count: int) -> bool:
        """Count an event up; False if it has expired."""
        meta = stored["metadata"]
        changes = {"count": count, "message": event["message"], "lastTimestamp": event["lastTimestamp"]}
        try:
            await self._client.patch(self._resource, meta["namespace"], meta["name"], changes, whole=False)
        except NotFound:
            return False
        return True

    def _takes(self, key: str, now: float) -> bool:
        """Take one token of an object; report whether there was one."""
        tokens, since = self._tokens.pop(key, (float(BURST), now))
        tokens = min(float(BURST), tokens + (now - since) / REFILL_S)
        self._tokens[key] = (tokens - 1 if tokens >= 1 else tokens), now
        if len(self._tokens) > REMEMBERED:
            self._tokens.popitem(last=False)
        return tokens >= 1

    def _series_of(self, key: tuple[str, str, str], now: float) -> _Series:
        series = self._series.pop(key, None)
        if series is None or now - series.last > SIMILAR_S:
            series = _Series()
        series.last = now
        self._series[key] = series
        if len(self._series) > REMEMBERED:
            self._series.popitem(last=False)
        return series
