"""Parameters resourceVersionMatch and sendInitialEvents against the others (reference READ-6, WATCH-21)."""

from __future__ import annotations

from enum import Enum
from typing import Final

from orchtw.errors import Cause
from orchtw.values.causes import forbidden, not_supported

EXACT: Final = "Exact"
NOT_OLDER_THAN: Final = "NotOlderThan"


class WatchList(Enum):
    """Treatment of `sendInitialEvents` by the emulated release."""

    UNKNOWN = "unknown"
    """The emulated release ignores the parameter."""
    OFF = "off"
    """The feature gate is off: it is refused."""
    ON = "on"


def match_causes(
    version: str, match: str, token: str, watch: bool, initial: bool | None, watch_list: WatchList
) -> list[Cause]:
    """Return the broken rules of a list or `watch`: `token` is that of continue, `initial` is sendInitialEvents."""
    if watch and watch_list is not WatchList.UNKNOWN:
        return _watch_causes(match, token, initial, watch_list)
    causes = _list_causes(version, match, token, watch) if match else []
    if initial is not None:
        causes.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_causes(match: str, token: str, initial: bool | None, watch_list: WatchList) -> list[Cause]:
    field, events = "resourceVersionMatch", "sendInitialEvents"
    causes = []
    if initial is not None:
        if match != NOT_OLDER_THAN:
            causes.append(forbidden(field, f"{events} requires setting {field} to {NOT_OLDER_THAN}"))
        if watch_list is WatchList.OFF:
            why = "is forbidden for watch unless the WatchList feature gate is enabled"
            causes.append(forbidden(events, f"{events} {why}"))
    if match:
        if initial is None:
            causes.append(forbidden(field, f"{field} is forbidden for watch unless {events} is provided"))
        if match != NOT_OLDER_THAN:
            causes.append(not_supported(field, match, (NOT_OLDER_THAN,)))
        if token:
            causes.append(forbidden(field, f"{field} is forbidden when continue is provided"))
    return causes


def _list_causes(version: str, match: str, token: str, watch: bool) -> list[Cause]:
    field = "resourceVersionMatch"
    causes = []
    if watch:
        causes.append(forbidden(field, f"{field} is forbidden for watch"))
    if not version:
        causes.append(forbidden(field, f"{field} is forbidden unless resourceVersion is provided"))
    if token:
        causes.append(forbidden(field, f"{field} is forbidden when continue is provided"))
    if match not in (EXACT, NOT_OLDER_THAN):
        causes.append(not_supported(field, match, (EXACT, NOT_OLDER_THAN, "")))
    if match == EXACT and version == "0":
        causes.append(forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    return causes
