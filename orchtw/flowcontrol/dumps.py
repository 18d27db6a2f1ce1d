"""Dumps of priority levels, queues and requests as text, for debugging (reference FLOW-13)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Final

from orchtw.flowcontrol.live import Live
from orchtw.flowcontrol.queued import Queued
from orchtw.flowcontrol.queueset import ESTIMATE_S, Queue, Seating
from orchtw.request import RequestInfo

LEVEL_COLUMNS: Final = (
    "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
)  # fmt: skip
QUEUE_COLUMNS: Final = (
    "PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR",
    "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum",
)  # fmt: skip
REQUEST_COLUMNS: Final = (
    "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime",
    "InitialSeats", "FinalSeats", "AdditionalLatency",
)  # fmt: skip
DETAIL_COLUMNS: Final = (
    "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource",
)  # fmt: skip
NONE: Final = "<none>"
MOST_IDLE_QUEUES: Final = 1024
"""Number of a level's queues above which only those in use are dumped, as after MOST_ROWS rows."""
MOST_ROWS: Final = 10_000

_LEAST_WIDTH: Final = 8

Row = Sequence[str]


def priority_levels(live: Live) -> list[Row]:
    """Return the header and a row for each level."""
    rows: list[Row] = [LEVEL_COLUMNS]
    for name, level in sorted(live.levels.items()):
        seating = level.seating
        if seating is None:
            rows.append((name, *[NONE] * (len(LEVEL_COLUMNS) - 1)))
            continue
        active = sum(bool(queue.waiting) for queue in seating.queues)
        numbers = map(str, (seating.waiting, seating.executing))
        rows.append((name, str(active), _boolean(seating.idle), _boolean(level.gone), *numbers))
    return rows


def queues(live: Live) -> list[Row]:
    """Return the header and a row for each queue."""
    rows: list[Row] = [QUEUE_COLUMNS]
    for name, level in sorted(live.levels.items()):
        seating = level.seating
        if seating is None:
            rows.append((name, *[NONE] * (len(QUEUE_COLUMNS) - 1)))
        else:
            rows += (_queue_row(name, queue) for queue in _shown(seating, idle=len(rows) < MOST_ROWS))
    return rows


def requests(live: Live, *, details: bool) -> list[Row]:
    """Return the header and a row for each waiting request."""
    rows: list[Row] = [(*REQUEST_COLUMNS, *DETAIL_COLUMNS) if details else REQUEST_COLUMNS]
    for name, level in sorted(live.levels.items()):
        for queue in () if level.seating is None else level.seating.queues:
            for place, waiting in enumerate(queue.waiting):
                assert isinstance(waiting, Queued)
                row = _request_row(name, queue.index, place, waiting)
                rows.append((*row, *_details(waiting)) if details else row)
    return rows


def table(rows: Sequence[Row]) -> bytes:
    """Return rows as columns of text, with commas between them."""
    widths = [max(_LEAST_WIDTH, max(map(len, column)) + 2) for column in zip_longest(*rows, fillvalue="")]
    return "".join(f"{''.join(_cells(row, widths))}\n" for row in rows).encode("utf-8", "replace")


def _cells(row: Row, widths: Iterable[int]) -> Iterator[str]:
    last = len(row) - 1
    for place, (cell, width) in enumerate(zip(row, widths, strict=False)):
        yield cell if place == last else f"{cell},".ljust(width)


def _shown(seating: Seating, *, idle: bool) -> Iterable[Queue]:
    used = {queue.index: queue for queue in seating.queues}
    number = 0 if seating.queuing is None else seating.queuing.queues
    if not idle or number > MOST_IDLE_QUEUES:
        return used.values()
    unused = {index: Queue(index, 0.0) for index in range(number) if index not in used}
    return [queue for _, queue in sorted((used | unused).items())]


def _queue_row(level: str, queue: Queue) -> Row:
    waiting, seats = len(queue.waiting), queue.waiting_seats
    numbers = map(str, (queue.index, waiting, queue.executing, queue.seats_in_use))
    return (level, *numbers, _work(queue.tag), str(seats), str(seats), _work(seats * ESTIMATE_S))


def _request_row(level: str, index: int, place: int, waiting: Queued) -> Row:
    flow = waiting.known
    arrived = datetime.fromtimestamp(waiting.arrived, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    seats = str(waiting.seats)
    return (level, flow.schema.name, str(index), str(place), flow.distinguisher, arrived, seats, "0", "0s")


def _details(waiting: Queued) -> Row:
    request = waiting.request
    info: RequestInfo | None = request.info
    assert info is not None and request.user is not None
    version = f"{info.group}/{info.version}" if info.group else info.version
    about = info.namespace, info.name, version, info.resource, info.subresource
    return (request.user.name, info.verb, info.path, *about)


def _work(seat_seconds: float) -> str:
    return f"{seat_seconds:.8f}ss"


def _boolean(value: bool) -> str:
    return "true" if value else "false"
