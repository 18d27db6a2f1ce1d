"""The longest waits of writers: creates in closed loops, then writes at a fixed rate beside many watchers.

Of each of the watchers' shards a hundredth of the writes is seen, as kubelets see the Pods of their own node. Objects
are created, changed and deleted, so that there are never more than a few hundred.
"""

from __future__ import annotations

import re
import select
import time
from collections import deque
from collections.abc import Mapping

from bench.bodies import SHARDS, numbered, sequence_patch
from bench.closed_loop import Result, percentile_ms
from bench.fanout import MERGE_PATCH, WatchGroup, watch_group
from bench.http1 import ANSWER_TIMEOUT_S, JSON, Answer, BenchError, Connection, Endpoint
from bench.session import Bench
from bench.subjects import Subject

CONNECTIONS = 64
SETTLE_S = 1.0
KEPT = 100  # objects that have been changed, before the oldest of them is deleted
STEPS_MS = (10, 20, 50, 100, 200, 500, 1000)

SERVER = {
    "reactor_lag": "orchtw_reactor_lag_seconds",
    "commit": "orchtw_store_commit_seconds",
    "background": "orchtw_store_background_seconds",
    "checkpoint": "orchtw_store_checkpoint_seconds",
    "log_cut": "orchtw_store_log_cut_seconds",
    "collection": "orchtw_gc_pause_seconds",
}
"""What the server measures of itself that could hold up a writer, by the field that it goes into."""

_BUCKET = re.compile(r'^(\w+)_bucket\{.*?le="([^"]+)".*\} (\S+)$', re.MULTILINE)

Buckets = dict[str, dict[float, float]]


def tails(bench: Bench) -> None:
    """Emit a line for each number of connections in closed loops, and one for the fixed rate."""
    for subject in bench.subjects("configmaps"):
        path = subject.within(bench.namespace())
        for workers in bench.options.tails_conc:
            make = bench.creating(path, subject, f"w{workers}")
            bench.measure(f"tails_create_{subject.plural}", workers, make, count=bench.options.n_create)
        _paced(bench, subject)


def _paced(bench: Bench, subject: Subject) -> None:
    options = bench.options
    path = subject.within(bench.namespace())
    shards = min(SHARDS, options.tails_watchers)
    each = options.tails_watchers // shards
    rate, count = options.tails_rate, max(1, round(options.tails_rate * options.tails_seconds))
    with watch_group(bench) as group:
        failed, reason = _open(group, path, shards, each)
        time.sleep(min(SETTLE_S, options.tails_seconds))
        group.begin_phase()
        told, before = _told(bench.endpoint), bench.machine.snapshot()
        pace = Pace(bench.endpoint, CONNECTIONS)
        result = pace.run(Mix(bench, subject, path, shards), rate, count)
        pace.close()
        usage = bench.machine.usage(before, count)
        time.sleep(min(SETTLE_S, options.tails_seconds))
        phase = group.settle(())
    lost = max(0, (count - result.errors) * each - phase.events)
    fields: dict[str, object] = {
        "kind": subject.plural,
        "watchers": shards * each,
        "failed": failed,
        "writes": count,
        "errors": failed + result.errors + lost + phase.ended,
        "writes_per_s": round(count / result.wall_s, 1),
        "deliveries": phase.events,
        "lost": lost,
        "ended": phase.ended,
        **_waits(result.latencies_ns),
        "server_s": _since(told, _told(bench.endpoint)),
        **usage,
    }
    if problem := reason or result.first_error or phase.first_error:
        fields["first_error"] = problem
    bench.emit("tails_paced", fields)


def _waits(latencies_ns: list[int]) -> dict[str, object]:
    """Return the fields of ordered latencies."""
    shares = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999, "max_ms": 1.0}
    waits = {field: percentile_ms(latencies_ns, share) for field, share in shares.items()}
    return {**waits, "longer_than_ms": longer(latencies_ns)}


def _open(group: WatchGroup, path: str, shards: int, each: int) -> tuple[int, str]:
    failed, reason = 0, ""
    for shard in range(shards):
        more, why = group.open(path, "json", each, query=f"&labelSelector=shard%3Ds-{shard:02d}")
        failed, reason = failed + more, reason or why
    return failed, reason


class Mix:
    """Of three requests that follow each other one creates an object, one changes one and one deletes one.

    Each object is changed once and then deleted, always after the answer to what came before.
    """

    def __init__(self, bench: Bench, subject: Subject, path: str, shards: int) -> None:
        self._request = bench.endpoint.request
        self._template = subject.template
        self._path = path
        self._shards = shards
        self._running: dict[int, tuple[deque[str] | None, str]] = {}
        self._created: deque[str] = deque()
        self._changed: deque[str] = deque()

    def make(self, number: int) -> bytes:
        """Return the request of that number."""
        kind, request = number % 3, self._request
        if kind == 1 and self._created:
            name = self._created.popleft()
            self._running[number] = self._changed, name
            return request("PATCH", f"{self._path}/{name}", JSON, MERGE_PATCH, sequence_patch(number))
        if kind == 2 and len(self._changed) > KEPT:
            name = self._changed.popleft()
            return request("DELETE", f"{self._path}/{name}")
        name = numbered("w", number)
        self._running[number] = self._created, name
        return request("POST", self._path, JSON, JSON, self._template.render(name, number, number % self._shards))

    def done(self, number: int) -> None:
        """Request `number` has been answered well."""
        following, name = self._running.pop(number, (None, ""))
        if following is not None:
            following.append(name)


class Pace:
    """Requests at a fixed rate over many connections: one that is not answered does not hold up the next."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        self._connections = [Connection(endpoint) for _ in range(connections)]
        for connection in self._connections:
            connection.call(endpoint.request("GET", "/version"))

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def run(self, mix: Mix, rate: float, count: int) -> Result:
        """Send `count` requests; latencies begin when a request is sent. BenchError when no answer comes."""
        result = Result()
        by_fd = {connection.fileno(): connection for connection in self._connections}
        free = deque(by_fd)
        sent: dict[int, tuple[int, int]] = {}  # descriptor: operation, when
        epoll = select.epoll(len(by_fd))
        for fd in by_fd:
            epoll.register(fd, select.EPOLLIN)
        began = time.monotonic_ns()
        following = 0
        while following < count or sent:
            left_s = following / rate - (time.monotonic_ns() - began) / 1e9
            if free and following < count and left_s <= 0:
                fd = free.popleft()
                request = mix.make(following)
                sent[fd] = following, time.monotonic_ns()
                by_fd[fd].send(request)
                following += 1
                continue
            waits = not free or following == count
            ready = epoll.poll(ANSWER_TIMEOUT_S if waits else left_s)
            if waits and not ready:
                raise BenchError("the server stopped answering")
            for fd, _ in ready:
                answer = by_fd[fd].receive()
                if answer is not None:
                    free.append(fd)
                    _answered(result, mix, answer, *sent.pop(fd))
        epoll.close()
        result.wall_s = (time.monotonic_ns() - began) / 1e9
        result.latencies_ns.sort()
        return result


def _answered(result: Result, mix: Mix, answer: Answer, number: int, when: int) -> None:
    result.latencies_ns.append(time.monotonic_ns() - when)
    if problem := answer.problem(JSON):
        result.failed(problem)
    else:
        mix.done(number)


def longer(latencies_ns: list[int]) -> dict[str, int]:
    """Return how many took longer than each step, in milliseconds, up to the slowest."""
    counts = {str(step): sum(latency > step * 1e6 for latency in latencies_ns) for step in STEPS_MS}
    return {step: count for step, count in counts.items() if count}


def buckets(text: str) -> Buckets:
    """Return the cumulated counts of the families in SERVER, by upper bound."""
    found: Buckets = {field: {} for field in SERVER}
    fields = {family: field for field, family in SERVER.items()}
    for family, bound, count in _BUCKET.findall(text):
        field = fields.get(family)
        if field is not None:
            at = found[field]
            at[float(bound)] = at.get(float(bound), 0.0) + float(count)
    return found


def _told(endpoint: Endpoint) -> Buckets:
    connection = Connection(endpoint)
    answer = connection.call(endpoint.request("GET", "/metrics", "text/plain"))
    connection.close()
    return buckets(answer.content.decode()) if answer.status == 200 else {}


def _since(before: Mapping[str, Mapping[float, float]], now: Buckets) -> dict[str, dict[str, int]]:
    """Per family, how many took up to each bound, from 5 ms on; what took less is one number."""
    told = {}
    for field, counts in now.items():
        apart: dict[str, int] = {}
        last = 0.0
        for bound, count in sorted(counts.items()):
            total = count - before.get(field, {}).get(bound, 0.0)
            if bound >= 0.005 and total - last:
                apart[f"{bound:g}"] = round(total - last)
            if bound >= 0.005:
                last = total
        if apart:
            told[field] = apart
    return told
