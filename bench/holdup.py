"""Time that one request holds up another: the worst that a client may send, and `/livez` beside it.

One connection sends the request. Meanwhile another process asks for `/livez` and for a small object, each on a
connection of its own, as fast as they are answered with a short rest between. What it waits longest is the figure.
"""

from __future__ import annotations

import multiprocessing
import select
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe

from bench.holdup_case import Case, Step
from bench.holdup_reads import READS
from bench.holdup_writes import WRITES
from bench.http1 import ANSWER_TIMEOUT_S, JSON, RECORD_BYTES, Answer, BenchError, Connection, Endpoint
from bench.session import Bench
from bench.subjects import CORE

CASES: tuple[Case, ...] = (*WRITES, *READS)
"""All kinds of requests; a table more is one line more here."""

REST_S = 0.002  # between an answer and the next question
MARGIN_S = 0.05  # before the request and after its answer
QUIET_S = 0.5  # without any request, to see what the machine adds
FILLERS = 16  # connections that fill the collection


@dataclass(slots=True)
class Waits:
    """The longest that each question waited, in ms, and how many were asked."""

    livez_ms: float = 0.0
    get_ms: float = 0.0
    polls: int = 0


@dataclass(slots=True)
class Outcome:
    """Result of a case: of its repetitions the one that held up others least, since the machine has other work."""

    status: int = 0
    request_ms: float = 0.0
    waits: Waits = field(default_factory=Waits)
    worst_ms: float = 0.0


def holdup(bench: Bench) -> None:
    """Emit a line for an idle server, and one for each kind of request."""
    namespace = bench.namespace()
    bench.create(f"{namespace}/configmaps", {"metadata": {"name": "small"}, "data": {"key": "value"}})
    cases = [case for case in CASES if bench.options.wants(case.name)]
    places = {"{core}": CORE, "{pods}": _filled(bench) if any("{pods}" in case.path for case in cases) else ""}
    with Probe(bench.endpoint, f"{namespace}/configmaps/small") as probe:
        probe.start()
        time.sleep(QUIET_S)
        _emit(bench, "idle", Outcome(waits=probe.stop()), 0)
        for case in cases:
            _measure(bench, probe, case, places)


def _filled(bench: Bench) -> str:
    """Return the path of a collection of pods."""
    pods = bench.subject("pods")
    path = pods.within(bench.namespace())
    bench.fill(path, pods, "load", bench.options.pods, FILLERS)
    return path


def _measure(bench: Bench, probe: Probe, case: Case, places: Mapping[str, str]) -> None:
    """Send the request of a case some times, each time in a namespace of its own."""
    data = case.body()
    outcomes = []
    for _ in range(bench.options.repeats):
        here = {**places, "{namespace}": bench.namespace()}
        for step in case.before:
            must(call(bench.endpoint, request_of(bench.endpoint, step, here, step.body())), step)
        request = request_of(bench.endpoint, case, here, data)
        bench.machine.await_quiet(bench.options.quiet)
        outcomes.append(once(bench.endpoint, probe, request))
    best = min(outcomes, key=lambda outcome: outcome.waits.livez_ms)
    best.worst_ms = max(outcome.waits.livez_ms for outcome in outcomes)
    _emit(bench, case.name, best, len(data))


def once(endpoint: Endpoint, probe: Probe, request: bytes) -> Outcome:
    """Send a request while the probe asks."""
    probe.start()
    time.sleep(MARGIN_S)
    began = time.monotonic()
    answer = call(endpoint, request)
    took_s = time.monotonic() - began
    time.sleep(MARGIN_S)
    return Outcome(answer.status, took_s * 1000, probe.stop())


def request_of(endpoint: Endpoint, step: Step, places: Mapping[str, str], data: bytes) -> bytes:
    """Return a step as bytes, with what its path leaves open."""
    path = step.path
    for name, place in places.items():
        path = path.replace(name, place)
    content_type = step.content_type if data else ""
    request = endpoint.request(step.method, path, step.accept, content_type, data, step.zipped)
    first, _, rest = request.partition(b"\r\n")
    return first + b"\r\n" + step.head() + rest


def call(endpoint: Endpoint, request: bytes) -> Answer:
    """Send the request a TLS record at a time, and wait for its answer, which may come before all is sent."""
    connection = Connection(endpoint)
    try:
        with suppress(OSError):
            for start in range(0, len(request), RECORD_BYTES):
                connection.send(request[start : start + RECORD_BYTES])
        while (answer := connection.receive()) is None:
            if not select.select([connection], [], [], ANSWER_TIMEOUT_S)[0]:
                raise BenchError(f"{request[:200]!r}: no answer")
        return answer
    finally:
        connection.close()


def must(answer: Answer, step: Step) -> None:
    """Raise BenchError unless the step went well."""
    if answer.status not in (200, 201):
        raise BenchError(f"{step.method} {step.path}: {answer.problem(JSON)}")


def figures(name: str, outcome: Outcome, size: int) -> dict[str, object]:
    """Return the fields of a case's line."""
    return {
        "case": name,
        "bytes": size,
        "status": outcome.status,
        "request_ms": round(outcome.request_ms, 1),
        "livez_max_ms": round(outcome.waits.livez_ms, 1),
        "livez_worst_ms": round(max(outcome.worst_ms, outcome.waits.livez_ms), 1),
        "get_max_ms": round(outcome.waits.get_ms, 1),
        "polls": outcome.waits.polls,
    }


def _emit(bench: Bench, name: str, outcome: Outcome, size: int) -> None:
    bench.emit("holdup", {**figures(name, outcome, size), "rss_mib": round(bench.machine.rss_mib(), 1)})


class Probe:
    """The process that asks; used as context, it ends with it."""

    def __init__(self, endpoint: Endpoint, path: str) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_ask, args=(endpoint, path, theirs), daemon=True)

    def __enter__(self) -> Probe:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def start(self) -> None:
        """Begin to send probes."""
        self._pipe.send(True)

    def stop(self) -> Waits:
        """End, once the questions that are under way have been answered; BenchError if they are not."""
        self._pipe.send(False)
        if not self._pipe.poll(ANSWER_TIMEOUT_S):
            raise BenchError("the probe gave no figures")
        waits: Waits = self._pipe.recv()
        return waits


def _ask(endpoint: Endpoint, path: str, pipe: Pipe) -> None:
    """Ask from a True out of the pipe until the next message, then put the waits into it; again and again."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    livez = _asker(endpoint, "/livez")
    get = _asker(endpoint, path)
    while pipe.recv():
        waits = Waits()
        while not waits.polls or not pipe.poll(REST_S):
            waits.livez_ms = max(waits.livez_ms, livez())
            waits.get_ms = max(waits.get_ms, get())
            waits.polls += 1
        pipe.recv()
        pipe.send(waits)


def _asker(endpoint: Endpoint, path: str) -> Callable[[], float]:
    """Return a function that asks once and returns what it waited, in ms; on one connection for all time."""
    connection = Connection(endpoint)
    request = endpoint.request("GET", path)

    def ask() -> float:
        began = time.monotonic()
        connection.call(request)
        return (time.monotonic() - began) * 1000

    ask()
    return ask
