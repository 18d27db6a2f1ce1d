"""The seats of one priority level, and the fair queues of waiting requests (reference FLOW-4, FLOW-9).

Fairness is by virtual time: a queue's tag is the work that it has been given, in seats times seconds, and the queue
with the least tag is next. A queue that was idle begins at the present tag, so that idleness earns no credit. Nothing
here depends on requests, clocks or Deferreds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import count, islice
from typing import Final

import msgspec

from orchtw.flowcontrol.marks import Marks

FULL, COMMON, KEPT = range(3)
"""Results of seating: no seat, a common one, or one reserved for flows that have none."""

KEPT_SHARE: Final = 10
"""Divisor of the limit: one seat in so many is reserved for flows that have none."""

ESTIMATE_S: Final = 0.003
"""Expected duration of a request in seconds; the actual one is charged when it ends."""

_LOOK_AT: Final = 64  # queues that are searched for a flow without seats
_SLACK: Final = 64  # outdated records of tags that do not justify a new heap


class Queuing(msgspec.Struct, frozen=True, kw_only=True):
    """Queuing configuration of a level: number of queues, hand size, and queue length limit."""

    queues: int
    hand_size: int
    length: int


class Flow:
    """Flow of requests: fairness is between flows, not within one."""

    __slots__ = ("hand", "seats")

    def __init__(self, hand: Sequence[int] = ()) -> None:
        self.hand = hand
        self.seats = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} with {self.seats} seats>"


class WaitingRequest:
    """Request that waits for `seats` seats; once it is seated, `pool` is their origin."""

    __slots__ = ("flow", "pool", "queue", "seats")

    def __init__(self, flow: Flow, seats: int) -> None:
        self.flow = flow
        self.seats = seats
        self.pool = FULL
        self.queue: Queue | None = None


class Queue:
    """Waiting requests in order, and the counts of those being served from the queue."""

    __slots__ = ("executing", "index", "seats_in_use", "tag", "waiting", "waiting_seats")

    def __init__(self, index: int, tag: float) -> None:
        self.index = index
        self.tag = tag
        self.waiting: OrderedDict[WaitingRequest, None] = OrderedDict()
        self.waiting_seats = self.executing = self.seats_in_use = 0

    @property
    def head(self) -> WaitingRequest:
        """The oldest request of the queue."""
        return next(iter(self.waiting))

    def remove(self, waiting: WaitingRequest) -> None:
        """Remove a request that no longer waits."""
        del self.waiting[waiting]
        self.waiting_seats -= waiting.seats


class Seating:
    """The `limit` seats of a level. Without `queuing` a request that finds none cannot wait.

    A tenth of the seats is reserved for flows that have none, so that a flow with many long requests never has all:
    another one finds a seat at once.
    """

    def __init__(self, limit: int, queuing: Queuing | None) -> None:
        self._queues: dict[int, Queue] = {}
        self._filled: dict[Queue, None] = {}
        self._heap: list[tuple[float, int, Queue]] = []
        self._order = count()
        self._tag = 0.0
        self.waiting = 0
        self.executing = 0
        self.in_use = 0
        self._kept_in_use = 0
        self.marks = (Marks(), Marks(), Marks())
        """Marks of `executing`, `waiting` and `in_use`."""
        self._executing_marks, self._waiting_marks, self._seat_marks = self.marks
        self.reshape(limit, queuing)

    def reshape(self, limit: int, queuing: Queuing | None) -> None:
        """Apply new numbers. Requests that are served or wait already stay."""
        self.limit = limit
        self.queuing = queuing
        self._kept = limit // KEPT_SHARE
        self._common = limit - self._kept

    @property
    def idle(self) -> bool:
        """Report whether no request is served or waits."""
        return not (self.executing or self.waiting)

    @property
    def queues(self) -> Iterator[Queue]:
        """The queues in use, in order."""
        return iter(sorted(self._queues.values(), key=lambda queue: queue.index))

    def width(self, seats: int) -> int:
        """Return the seats for a request that needs `seats`: never more than the level has in common."""
        return min(seats, self._common)

    def take(self, flow: Flow, seats: int) -> int:
        """Take seats, of `width`, without waiting; return their pool, or FULL."""
        if not self.waiting and self.in_use - self._kept_in_use + seats <= self._common:
            pool = COMMON
        elif not flow.seats and self._kept_in_use + seats <= self._kept:
            pool = KEPT
            self._kept_in_use += seats
        else:
            return FULL
        self.in_use += seats
        self.executing += 1
        flow.seats += seats
        self._executing_marks.see(self.executing)
        self._seat_marks.see(self.in_use)
        return pool

    @property
    def roomy(self) -> bool:
        """Report whether a seat that is not reserved is free."""
        return not self.waiting and self.in_use - self._kept_in_use < self._common

    def touch(self) -> None:
        """Take a seat, and give it back again, for a request that is served in one step."""
        self._executing_marks.see(self.executing + 1)
        self._seat_marks.see(self.in_use + 1)

    def wait(self, waiting: WaitingRequest) -> bool:
        """Join the shortest queue of the flow's hand; False if even that is full."""
        queuing = self.queuing
        if queuing is None:
            return False
        queue = self._shortest(waiting.flow.hand or (0,))
        if len(queue.waiting) >= queuing.length:
            return False
        if not queue.waiting:
            queue.tag = max(queue.tag, self._tag)
            self._queues[queue.index] = queue
            self._filled[queue] = None
            self._push(queue)
        queue.waiting[waiting] = None
        queue.waiting_seats += waiting.seats
        waiting.queue = queue
        self.waiting += 1
        self._waiting_marks.see(self.waiting)
        return True

    def leave(self, waiting: WaitingRequest) -> None:
        """Remove a request from its queue."""
        queue = waiting.queue
        assert queue is not None
        queue.remove(waiting)
        waiting.queue = None
        self.waiting -= 1
        self._waiting_marks.see(self.waiting)
        self._emptied(queue)

    def call(self) -> WaitingRequest | None:
        """Give seats to the next request and return it; None if no request waits or no seats are free."""
        queue = self._first()
        if queue is None:
            return None
        head = queue.head
        if self.in_use - self._kept_in_use + self.width(head.seats) <= self._common:
            self._tag = max(self._tag, queue.tag)
            return self._seat(queue, head, COMMON)
        room = self._kept - self._kept_in_use
        if room > 0:
            for other in islice(self._filled, _LOOK_AT):
                head = other.head
                if not head.flow.seats and head.seats <= room:
                    return self._seat(other, head, KEPT)
        return None

    def give(self, flow: Flow, seats: int, pool: int, queue: Queue | None = None, took_s: float = 0.0) -> bool:
        """Return seats, and correct the charge of the queue. Report whether requests wait for them."""
        self.in_use -= seats
        self.executing -= 1
        flow.seats -= seats
        self._executing_marks.see(self.executing)
        self._seat_marks.see(self.in_use)
        if pool == KEPT:
            self._kept_in_use -= seats
        if queue is not None:
            queue.executing -= 1
            queue.seats_in_use -= seats
            queue.tag += (took_s - ESTIMATE_S) * seats
            if queue.waiting:
                self._push(queue)
            else:
                self._emptied(queue)
        return self.waiting > 0

    def _shortest(self, hand: Sequence[int]) -> Queue:
        best: Queue | None = None
        for index in hand:
            queue = self._queues.get(index)
            if queue is None:
                return Queue(index, self._tag)
            if best is None or queue.waiting_seats < best.waiting_seats:
                best = queue
        assert best is not None
        return best

    def _seat(self, queue: Queue, waiting: WaitingRequest, pool: int) -> WaitingRequest:
        queue.remove(waiting)
        seats = waiting.seats = self.width(waiting.seats)
        waiting.pool = pool
        waiting.flow.seats += seats
        self.in_use += seats
        self.executing += 1
        self.waiting -= 1
        self._executing_marks.see(self.executing)
        self._waiting_marks.see(self.waiting)
        self._seat_marks.see(self.in_use)
        if pool == KEPT:
            self._kept_in_use += seats
        queue.executing += 1
        queue.seats_in_use += seats
        queue.tag += ESTIMATE_S * seats
        if queue.waiting:
            self._push(queue)
        else:
            self._emptied(queue)
        return waiting

    def _emptied(self, queue: Queue) -> None:
        if queue.waiting:
            return
        self._filled.pop(queue, None)
        if not queue.executing:
            self._queues.pop(queue.index, None)

    def _push(self, queue: Queue) -> None:
        """Record the queue's tag. Earlier records are outdated then, and skipped later."""
        if len(self._heap) > 2 * len(self._filled) + _SLACK:
            self._heap = [(each.tag, next(self._order), each) for each in self._filled]
            heapify(self._heap)
        heappush(self._heap, (queue.tag, next(self._order), queue))

    def _first(self) -> Queue | None:
        heap = self._heap
        while heap:
            tag, _, queue = heap[0]
            if queue.waiting and tag == queue.tag:
                return queue
            heappop(heap)
        return None
