"""A closed loop: each connection sends its next request when its last one is answered."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.http1 import ANSWER_TIMEOUT_S, JSON, Answer, BenchError, Connection, Endpoint

MAX_ERRORS = 1000

Make = Callable[[int, int], bytes]
"""The request that worker (first number) sends as operation (second number)."""

Done = Callable[[int, int, Answer], None]
"""Told of each good answer to a worker's operation."""


@dataclass(slots=True)
class Result:
    """Latencies in ns of the operations that went well, and what happened to the others."""

    latencies_ns: list[int] = field(default_factory=list)
    bytes: int = 0
    errors: int = 0
    first_error: str = ""
    wall_s: float = 0.0

    def counts(self, answer: Answer, accept: str, latency_ns: int) -> bool:
        """Count an answer; whether it is a good one of the media type asked for."""
        if problem := answer.problem(accept):
            self.failed(problem)
            return False
        self.latencies_ns.append(latency_ns)
        self.bytes += sum(map(len, answer.pieces))
        return True

    def failed(self, problem: str) -> None:
        self.errors += 1
        self.first_error = self.first_error or problem
        if self.errors > MAX_ERRORS:
            raise BenchError(f"{self.errors} errors, the first: {self.first_error}")


def percentile_ms(ordered_ns: list[int], share: float) -> float:
    """Return the nearest-rank percentile in ms; 0 of nothing."""
    if not ordered_ns:
        return 0.0
    return round(ordered_ns[max(0, -int(-share * len(ordered_ns) // 1) - 1)] / 1e6, 3)


class ClosedLoop:
    """`workers` connections, opened and used once before anything is measured, and those that are there already."""

    def __init__(self, endpoint: Endpoint, workers: int = 0, connections: Sequence[Connection] = ()) -> None:
        self._connections = [*connections, *(Connection(endpoint) for _ in range(workers))]
        for connection in self._connections:
            connection.call(endpoint.request("GET", "/version"))

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def run(
        self,
        make: Make,
        *,
        accept: str = JSON,
        first: int = 0,
        count: int = 0,
        seconds: float = 0.0,
        done: Done | None = None,
    ) -> Result:
        """Do operations `first` to `first + count`, or as many as begin within `seconds` (count 0).

        Every answer must be a 200 or 201 of the media type of `accept`. BenchError when the server stops answering.
        """
        result = Result()
        began = time.monotonic_ns()
        end = began + int(seconds * 1e9)
        following = first
        sent: dict[int, tuple[int, int, int]] = {}  # descriptor: worker, operation, when
        by_fd = {connection.fileno(): connection for connection in self._connections}
        epoll = select.epoll(len(by_fd))

        def begin(fd: int, worker: int, now: int) -> None:
            nonlocal following
            if following < first + count if count else now < end:
                request = make(worker, following)
                sent[fd] = (worker, following, time.monotonic_ns())
                following += 1
                by_fd[fd].send(request)

        for worker, fd in enumerate(by_fd):
            epoll.register(fd, select.EPOLLIN)
            begin(fd, worker, began)
        while sent:
            ready = epoll.poll(ANSWER_TIMEOUT_S)
            if not ready:
                raise BenchError("the server stopped answering")
            for fd, _ in ready:
                answer = by_fd[fd].receive()
                if answer is None:
                    continue
                now = time.monotonic_ns()
                worker, operation, when = sent.pop(fd)
                if result.counts(answer, accept, now - when) and done is not None:
                    done(worker, operation, answer)
                begin(fd, worker, now)
        epoll.close()
        result.wall_s = (time.monotonic_ns() - began) / 1e9
        result.latencies_ns.sort()
        return result
