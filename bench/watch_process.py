"""Watchers in a process of their own, so that the process that writes and measures does not wait for them."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from bench.child_process import ChildProcess, Commands
from bench.http1 import BenchError, Endpoint
from bench.multiplexed import Multiplexed
from bench.unread import UnreadWatches
from bench.watch_check import Expected, Tally, Write
from bench.watcher import Events, Watcher

OPENERS = 8
STALL_S = 10.0
LATE_S = 0.02  # for late duplicates
READ_EVERY = 200  # where most watches are not read: one in so many is, and the first
MAX_TIMED = 1_000_000  # latencies kept: beyond, those of every second, third, ... watcher


@dataclass(slots=True)
class Phase:
    """Events that the watchers of a phase saw, in sum."""

    tally: Tally = field(default_factory=Tally)
    bytes: int = 0
    events: int = 0
    others: int = 0
    unread: int = 0
    ended: int = 0
    first_error: str = ""

    def add(self, other: Phase) -> None:
        """Count another process' watchers in."""
        self.tally.add(other.tally)
        self.bytes += other.bytes
        self.events += other.events
        self.others += other.others
        self.unread += other.unread
        self.ended += other.ended
        self.first_error = self.first_error or other.first_error


class WatchProcess(ChildProcess):
    """The parent's handle: sends a command, and `answer` has what came of it."""

    def __init__(self) -> None:
        super().__init__(_main)

    def open(
        self, endpoint: Endpoint, path: str, accept: str, protobuf: bool, count: int, read_every: int
    ) -> None:
        """Begin to open watches; `answer` tells how many failed, and why the first did.

        Of `read_every` one is read, the others are only received.
        """
        self.ask("open", endpoint, path, accept, protobuf, count, read_every)

    def begin_phase(self) -> None:
        """Forget what has been seen; `answer` is None."""
        self.ask("begin_phase")

    def settle(self, writes: Sequence[Write]) -> None:
        """Wait until all watchers have all `writes`, or none moves for 10 s; `answer` is the Phase."""
        self.ask("settle", writes)


class Watchers(Commands):
    """The child's loop: sockets and the pipe on one epoll."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(pipe)
        self._connections: dict[int, Watcher | Multiplexed] = {}
        self._unread = UnreadWatches()
        self._delivered = 0

    def open(
        self, endpoint: Endpoint, path: str, accept: str, protobuf: bool, count: int, read_every: int
    ) -> tuple[int, str]:
        """Open `count` watches, a few at a time; returns the number of failures and the first one."""

        def one(share: int) -> Watcher | Multiplexed | tuple[int, str]:
            try:
                opened: Watcher | Multiplexed
                if endpoint.streams:
                    opened = Multiplexed(endpoint, path, accept, protobuf, share)
                else:
                    opened = Watcher(endpoint, path, accept, protobuf)
                opened.open()
            except (OSError, BenchError) as problem:
                return share, str(problem)
            return opened

        each = endpoint.streams or 1
        shares = [min(each, count - begun) for begun in range(0, count, each)]
        problems: list[tuple[int, str]] = []
        with ThreadPoolExecutor(OPENERS) as pool:
            for opened in pool.map(one, shares):
                if isinstance(opened, tuple):
                    problems.append(opened)
                    continue
                if type(opened) is Watcher and (len(self._connections) + len(self._unread)) % read_every:
                    self._unread.add(opened)
                    continue
                self._connections[opened.fileno()] = opened
                self._epoll.register(opened.fileno(), select.EPOLLIN)
        return sum(share for share, _ in problems), problems[0][1] if problems else ""

    def _watches(self) -> list[Events]:
        return [watch for connection in self._connections.values() for watch in connection.watches]

    def begin_phase(self) -> None:
        self._delivered = 0
        for watch in self._watches():
            watch.begin_phase()
        self._unread.begin_phase()

    def settle(self, writes: Sequence[Write]) -> Phase:
        """Read until every watcher has every write, then check them all."""
        wanted = len(writes) * len(self._watches())
        before, moved = (0, 0), time.monotonic()
        while not self._has_all(wanted) and time.monotonic() - moved < STALL_S:
            self._turn(1)
            if (now := (self._delivered, self._unread.bytes)) != before:
                before, moved = now, time.monotonic()
        end = time.monotonic() + LATE_S
        while (left := end - time.monotonic()) > 0:
            self._turn(left)
        return self._check(Expected(writes), max(1, wanted // MAX_TIMED))

    def _has_all(self, wanted: int) -> bool:
        """Report whether all watches that are parsed have so many events, and the others as many bytes."""
        if self._delivered < wanted or not (len(self._unread) and self._connections):
            return self._delivered >= wanted
        return self._unread.least() >= self._one().bytes

    def _one(self) -> Events:
        """Return one that is read in full."""
        return self._watches()[0]

    def _turn(self, timeout_s: float) -> bool:
        """Read once from whatever is ready; True if the pipe is."""
        command = False
        connections = self._connections
        due_s = self._unread.turn()
        if due_s >= 0:
            timeout_s = due_s if timeout_s < 0 else min(timeout_s, due_s)
        for fd, _ in self._epoll.poll(timeout_s):
            connection = connections.get(fd)
            if connection is None:
                command = True
                continue
            self._delivered += connection.readable()
            if connection.ended:
                self._epoll.unregister(fd)
        return command

    def _check(self, expected: Expected, every: int) -> Phase:
        phase = Phase()
        for i, watcher in enumerate(self._watches()):
            expected.check(watcher.seen, phase.tally, timed=i % every == 0)
            phase.bytes += watcher.bytes
            phase.events += watcher.events
            phase.others += watcher.others
            phase.ended += watcher.ended
            phase.first_error = phase.first_error or watcher.error
        if len(self._unread) and self._connections:
            self._count_unread(len(expected), phase)
        return phase

    def _count_unread(self, writes: int, phase: Phase) -> None:
        """Check the bytes: fewer than the events alone take means a loss."""
        one = self._one()
        each = max(1, one.bytes // max(1, one.events))
        for unread in self._unread.each():
            lost = min(writes, -(-max(0, one.bytes - unread.bytes) // each))
            phase.tally.lost += lost
            phase.tally.deliveries += writes - lost
            phase.ended += unread.ended
        phase.tally.last_ns = max(phase.tally.last_ns, self._unread.last_ns)
        phase.unread += len(self._unread)


def _main(pipe: Connection) -> None:
    Watchers(pipe).run()
