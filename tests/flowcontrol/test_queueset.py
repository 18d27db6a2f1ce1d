"""Seats and fair queues, without clocks and requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.queueset import COMMON, ESTIMATE_S, FULL, KEPT, Flow, Queuing, Seating, WaitingRequest
from tests.properties import examples

QUEUES = Queuing(queues=8, hand_size=2, length=50)


class SeatingTests(SynchronousTestCase):
    """Seats and queues of one level."""

    def called(self, seating: Seating) -> Iterator[WaitingRequest]:
        """Yield the waiting requests that get seats now."""
        while (waiting := seating.call()) is not None:
            yield waiting

    def joined(self, seating: Seating, flow: Flow, seats: int = 1) -> WaitingRequest:
        waiting = WaitingRequest(flow, seats)
        self.assertTrue(seating.wait(waiting))
        return waiting

    def give(self, seating: Seating, waiting: WaitingRequest, took_s: float = ESTIMATE_S) -> None:
        seating.give(waiting.flow, waiting.seats, waiting.pool, waiting.queue, took_s)

    def test_seats_at_once(self) -> None:
        """A request with a free seat never waits (reference FLOW-4)."""
        seating, flow = Seating(2, QUEUES), Flow((0, 1))
        self.assertEqual([seating.take(flow, 1) for _ in range(3)], [COMMON, COMMON, FULL])
        self.assertEqual((seating.in_use, seating.executing, flow.seats), (2, 2, 2))

    @given(st.lists(st.sampled_from(("take", "give", "one step", "marks")), max_size=30))
    @examples(100)
    def test_one_step(self, steps: list[str]) -> None:
        """A request that is served in one step leaves what taking a common seat and giving it back would."""
        touched, one_by_one = Seating(12, QUEUES), Seating(12, QUEUES)
        flow, passing = Flow((0, 1)), Flow((2, 3))
        for step in steps:
            if step == "one step" and touched.roomy:
                touched.touch()
                pool = one_by_one.take(passing, 1)
                self.assertEqual(pool, COMMON)
                one_by_one.give(passing, 1, pool)
            for seating in (touched, one_by_one):
                if step == "take" and seating.roomy:
                    seating.take(flow, 1)
                elif step == "give" and seating.in_use:
                    seating.give(flow, 1, COMMON)
            if step == "marks":
                found = [[mark.anew(each.in_use) for mark in each.marks] for each in (touched, one_by_one)]
                self.assertEqual(found[0], found[1])
        self.assertEqual(touched.in_use, one_by_one.in_use)
        self.assertEqual([(mark.high, mark.low) for mark in touched.marks],
                         [(mark.high, mark.low) for mark in one_by_one.marks])  # fmt: skip

    def test_reject(self) -> None:
        """A level without queues rejects a request that finds no free seat (reference FLOW-4)."""
        seating, flow = Seating(1, None), Flow()
        seating.take(flow, 1)
        self.assertFalse(seating.wait(WaitingRequest(flow, 1)))

    def test_full_queue(self) -> None:
        """A flow whose queues are full is refused, others are not (reference FLOW-4)."""
        seating, greedy, other = Seating(1, Queuing(queues=4, hand_size=2, length=3)), Flow((0, 1)), Flow((2, 3))
        seating.take(greedy, 1)
        taken = [seating.wait(WaitingRequest(greedy, 1)) for _ in range(8)]
        self.assertEqual(taken, [True] * 6 + [False] * 2)
        self.assertTrue(seating.wait(WaitingRequest(other, 1)))

    def test_nobody_passes_those_who_wait(self) -> None:
        """A later request queues behind those that wait, even if a seat is free by now."""
        seating, flow = Seating(1, QUEUES), Flow((0, 1))
        seating.take(flow, 1)
        first = self.joined(seating, flow)
        seating.give(flow, 1, COMMON)
        self.assertEqual(seating.take(Flow((0, 1)), 1), FULL)
        self.assertEqual(list(self.called(seating)), [first])

    def test_order_within_a_queue(self) -> None:
        """Requests of one queue begin in their order."""
        seating, flow = Seating(1, QUEUES), Flow((3,))
        seating.take(flow, 1)
        waiting = [self.joined(seating, flow) for _ in range(4)]
        seating.give(flow, 1, COMMON)
        found = []
        for _ in waiting:
            [one] = self.called(seating)
            found.append(one)
            self.give(seating, one)
        self.assertEqual(found, waiting)

    def test_fair_by_work(self) -> None:
        """Queues get the same seats times seconds, so of requests that take twice as long half as many (FLOW-4)."""
        seating, long, short = Seating(1, QUEUES), Flow((0,)), Flow((1,))
        seating.take(long, 1)
        for _ in range(40):
            self.joined(seating, long)
            self.joined(seating, short)
        seating.give(long, 1, COMMON)
        work: Counter[Flow] = Counter()
        for _ in range(30):
            [one] = self.called(seating)
            took_s = 0.2 if one.flow is long else 0.1
            work[one.flow] += round(took_s * 10)
            self.give(seating, one, took_s)
        self.assertAlmostEqual(work[long], work[short], delta=2)

    def test_idle_queues_save_nothing_up(self) -> None:
        """A flow that was away for long is not served alone when it comes back."""
        seating, busy, away = Seating(1, QUEUES), Flow((0,)), Flow((1,))
        seating.take(busy, 1)
        for _ in range(30):
            self.joined(seating, busy)
        seating.give(busy, 1, COMMON)
        for _ in range(10):
            [one] = self.called(seating)
            self.give(seating, one, 1.0)
        for _ in range(10):
            self.joined(seating, away)
        order = []
        for _ in range(6):
            [one] = self.called(seating)
            order.append(one.flow)
            self.give(seating, one, 1.0)
        self.assertEqual(Counter(order), {busy: 3, away: 3})

    def test_wide_requests_are_not_passed_for_ever(self) -> None:
        """The next one waits for as many seats as it needs; others do not take them away (reference FLOW-11)."""
        seating, narrow, wide = Seating(5, QUEUES), Flow((0,)), Flow((1,))
        for _ in range(5):
            seating.take(narrow, 1)
        first = self.joined(seating, wide, 5)
        self.joined(seating, narrow)
        for _ in range(4):
            seating.give(narrow, 1, COMMON)
            self.assertEqual(list(self.called(seating)), [])
        seating.give(narrow, 1, COMMON)
        self.assertEqual(list(self.called(seating)), [first])

    def test_kept_seats(self) -> None:
        """A tenth of the seats is for flows that have none, even when others wait (reference FLOW-9)."""
        seating, greedy, modest = Seating(20, QUEUES), Flow((0, 1)), Flow((0, 1))
        self.assertEqual([seating.take(greedy, 1) for _ in range(20)], [COMMON] * 18 + [FULL] * 2)
        for _ in range(50):
            self.joined(seating, greedy)
        self.assertEqual(list(self.called(seating)), [])
        self.assertEqual([seating.take(modest, 1) for _ in range(2)], [KEPT, FULL])
        seating.give(modest, 1, KEPT)
        self.assertEqual(seating.take(modest, 1), KEPT)

    def test_kept_seats_for_those_who_wait(self) -> None:
        """A queued request without a seat gets a kept one as soon as one is free again."""
        seating, greedy = Seating(10, QUEUES), Flow((0,))
        while seating.take(greedy, 1):
            pass
        first, second = Flow((1,)), Flow((2,))
        self.assertEqual(seating.take(first, 1), KEPT)
        waiting = self.joined(seating, second)
        self.assertEqual(list(self.called(seating)), [])
        seating.give(first, 1, KEPT)
        self.assertEqual(list(self.called(seating)), [waiting])
        self.assertEqual(waiting.pool, KEPT)

    def test_leaving(self) -> None:
        """A request that leaves the queue is not called, and the last one takes the queue with it."""
        seating, flow = Seating(1, QUEUES), Flow((0,))
        seating.take(flow, 1)
        gone, other = self.joined(seating, flow), self.joined(seating, flow)
        seating.leave(gone)
        seating.give(flow, 1, COMMON)
        self.assertEqual(list(self.called(seating)), [other])
        self.give(seating, other)
        self.assertEqual((seating.idle, list(seating.queues)), (True, []))

    def test_fewer_seats(self) -> None:
        """A request that was to take more seats than now exist gets all that exist."""
        seating, flow = Seating(9, QUEUES), Flow((0,))
        seating.take(flow, 9)
        waiting = self.joined(seating, flow, 9)
        seating.reshape(2, None)
        self.assertEqual(list(self.called(seating)), [])
        seating.give(flow, 9, COMMON)
        self.assertEqual(list(self.called(seating)), [waiting])
        self.assertEqual((waiting.seats, seating.in_use), (2, 2))


MOVES = st.lists(
    st.tuples(st.sampled_from(("come", "come", "end", "leave")), st.integers(0, 5), st.integers(1, 12)), max_size=200
)


class PropertyTests(SynchronousTestCase):
    """Invariants under any sequence of operations."""

    @examples(100)
    @given(MOVES, st.integers(1, 30))
    def test_invariants(self, moves: list[tuple[str, int, int]], limit: int) -> None:
        """Seats are never exceeded, no usable seat is left idle, and no request is lost."""
        seating = Seating(limit, Queuing(queues=6, hand_size=2, length=5))
        flows = [Flow((number, (number + 1) % 6)) for number in range(6)]
        executing: list[WaitingRequest] = []
        queued: list[WaitingRequest] = []
        for kind, number, seats in moves:
            if kind == "come":
                one = WaitingRequest(flows[number], seating.width(seats))
                one.pool = seating.take(one.flow, one.seats)
                if one.pool:
                    executing.append(one)
                elif seating.wait(one):
                    queued.append(one)
            elif kind == "end" and executing:
                one = executing.pop(seats % len(executing))
                seating.give(one.flow, one.seats, one.pool, one.queue, seats / 10)
            elif kind == "leave" and queued:
                seating.leave(queued.pop(seats % len(queued)))
            while (called := seating.call()) is not None:
                queued.remove(called)
                executing.append(called)
            self.assertEqual(seating.in_use, sum(one.seats for one in executing))
            self.assertLessEqual(seating.in_use, limit)
            self.assertEqual((seating.waiting, seating.executing), (len(queued), len(executing)))
            if queued:
                free = limit - limit // 10 - sum(one.seats for one in executing if one.pool == COMMON)
                self.assertTrue(any(one.seats > free for one in queued))
        for one in executing:
            seating.give(one.flow, one.seats, one.pool, one.queue, 0.1)
        self.drain(seating, queued)

    def drain(self, seating: Seating, queued: list[WaitingRequest]) -> None:
        """No request starves: when the seats come back, all waiting ones are called."""
        while queued:
            called = seating.call()
            assert called is not None
            queued.remove(called)
            seating.give(called.flow, called.seats, called.pool, called.queue, 0.1)
        self.assertTrue(seating.idle)
        self.assertEqual((list(seating.queues), seating.in_use), ([], 0))

    @examples(100)
    @given(st.lists(st.integers(1, 10), min_size=2, max_size=5), st.integers(1, 4))
    def test_no_starvation(self, widths: list[int], limit: int) -> None:
        """However others keep coming, everybody in a queue of their own is served before long."""
        seating = Seating(limit, Queuing(queues=8, hand_size=1, length=1000))
        flows = {Flow((number,)): min(width, limit) for number, width in enumerate(widths)}
        for flow, width in flows.items():
            for _ in range(200):
                seating.wait(WaitingRequest(flow, seating.width(width)))
        served: Counter[Flow] = Counter()
        for _ in range(30 * len(widths)):
            called = seating.call()
            assert called is not None
            served[called.flow] += called.seats
            seating.give(called.flow, called.seats, called.pool, called.queue, 0.1)
        self.assertLessEqual(max(served.values()) - min(served.values()), 2 * limit + 1)
