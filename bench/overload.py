"""Latency of one user while another overloads the server (reference FLOW-9, FLOW-10).

2,000 connections of the greedy user ask for the same heavy thing again as soon as they are answered, a refusal
included. They are in a process of their own, which gives way to this one, where a user with one connection gets a
small object again and again.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe

from bench.bodies import numbered
from bench.closed_loop import percentile_ms
from bench.http1 import JSON, BenchError, Connection, Endpoint
from bench.options import Options
from bench.server import GREEDY_TOKEN, MODEST_TOKEN, USERS
from bench.session import Bench
from bench.subjects import Subject
from orchtw.naming.naming import Naming

REST_S = 0.002  # between an answer and the next question of the modest user
SETTLE_S = 1.0  # of overload, before anything is measured
REPLY_LIMIT_S = 300.0
FILLERS = 16
NICE = 10

LOST = 0
"""Stands among the statuses for connections that the server has closed."""

LISTS = "lists"
CREATES = "creates"


def overload(bench: Bench) -> None:
    """Emit a line for the modest user alone, and one beside each kind of load."""
    subject = bench.subject("pods")
    _grant(bench)
    path = subject.within(bench.namespace())
    bench.fill(path, subject, "load", bench.options.pods, FILLERS)
    created = subject.within(bench.namespace())
    small = f"{bench.namespace()}/configmaps"
    bench.create(small, {"metadata": {"name": "small"}, "data": {"key": "value"}})
    modest = Connection(replace(bench.endpoint, token=MODEST_TOKEN))
    ask = _asker(modest, replace(bench.endpoint, token=MODEST_TOKEN).request("GET", f"{small}/small"))
    _measure(bench, ask, "nothing", Counter)
    for kind, place in ((LISTS, path), (CREATES, created)):
        with Greed(bench.endpoint, bench.options.greedy, kind, place, subject) as greed:
            time.sleep(min(SETTLE_S, bench.options.seconds))
            _measure(bench, ask, kind, greed.end)
    modest.close()


def _grant(bench: Bench) -> None:
    """Let both users do everything; administrators would not be limited."""
    naming = _naming(bench.options)
    group = naming.group("rbac.authorization.orch.io")
    binding = {
        "metadata": {"name": USERS},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": USERS}],
    }
    bench.create(f"/apis/{group}/v1/clusterrolebindings", binding)


def _naming(options: Options) -> Naming:
    return next(each for each in (Naming.orch(), Naming.kubernetes()) if options.meta_group in ("", each.meta_group))


def _measure(bench: Bench, ask: Callable[[], int], beside: str, end: Callable[[], Counter[int]]) -> None:
    """Ask for a while, then end the greed and print what came of both."""
    before = bench.machine.snapshot()
    waits: list[int] = []
    refused = 0
    until = time.monotonic() + bench.options.seconds
    while time.monotonic() < until:
        began = time.monotonic_ns()
        status = ask()
        waits.append(time.monotonic_ns() - began)
        refused += status != 200
        time.sleep(REST_S)
    usage = bench.machine.usage(before)
    answers = end()
    waits.sort()
    bench.emit(
        "overload",
        {
            "beside": beside,
            "gets": len(waits),
            "errors": refused,
            "p50_ms": percentile_ms(waits, 0.5),
            "p99_ms": percentile_ms(waits, 0.99),
            "max_ms": percentile_ms(waits, 1.0),
            "greedy": {str(status): count for status, count in sorted(answers.items())},
            **usage,
        },
    )


def _asker(connection: Connection, request: bytes) -> Callable[[], int]:
    return lambda: connection.call(request).status


class Greed:
    """The greedy user's process; used as context, all connections are open, and it ends with it."""

    def __init__(self, endpoint: Endpoint, count: int, kind: str, path: str, subject: Subject) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawning.Pipe()
        greedy = replace(endpoint, token=GREEDY_TOKEN)
        arguments = (greedy, count, kind, path, subject, theirs)
        self._process = spawning.Process(target=_be_greedy, args=arguments, daemon=True)

    def __enter__(self) -> Greed:
        self._process.start()
        self._reply()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def end(self) -> Counter[int]:
        """End; how many answers of each status there were."""
        self._pipe.send(None)
        answers: Counter[int] = self._reply()
        return answers

    def _reply(self) -> Counter[int]:
        if not self._pipe.poll(REPLY_LIMIT_S):
            raise BenchError("the greedy process does not answer")
        answers: Counter[int] = self._pipe.recv()
        return answers


class _Forgetful(Connection):
    """A connection that throws bodies away."""

    def on_body(self, data: bytes) -> None:
        """Drop the body of the response."""


def _be_greedy(endpoint: Endpoint, count: int, kind: str, path: str, subject: Subject, pipe: Pipe) -> None:
    """Open the connections, say so, and ask until a message and an answer have come; then say what was answered."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.nice(NICE)
    following = 0

    def make() -> bytes:
        nonlocal following
        if kind == LISTS:
            return endpoint.request("GET", path)
        following += 1
        return endpoint.request("POST", path, JSON, JSON, subject.template.render(numbered("greed", following), 0))

    opened = [_Forgetful(endpoint) for _ in range(count)]
    answers: Counter[int] = Counter()
    pipe.send(answers)
    epoll = select.epoll(count + 1)
    epoll.register(pipe.fileno(), select.EPOLLIN)
    asking: dict[int, Connection] = {}

    def begin(connection: Connection) -> None:
        asking[connection.fileno()] = connection
        epoll.register(connection.fileno(), select.EPOLLIN)
        connection.send(make())

    for connection in opened:
        begin(connection)
    while not answers or not pipe.poll():
        for descriptor, _ in epoll.poll():
            if (ready := asking.get(descriptor)) is None:
                continue
            try:
                if (answer := ready.receive()) is not None:
                    answers[answer.status] += 1
                    ready.send(make())
            except OSError:
                answers[LOST] += 1
                del asking[descriptor]
                ready.close()
                begin(_Forgetful(endpoint))
    pipe.recv()
    pipe.send(answers)
