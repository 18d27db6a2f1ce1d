"""Watch fan-out: paced and flat-out writes, seen by many watchers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from bench.bodies import numbered, sequence_patch
from bench.closed_loop import ClosedLoop, Result, percentile_ms
from bench.http1 import JSON, Answer, BenchError, Connection
from bench.session import Bench
from bench.subjects import Subject
from bench.watch_check import Write
from bench.watch_process import READ_EVERY, Phase, WatchProcess

MERGE_PATCH = "application/merge-patch+json"
SETTLE_S = 0.3
UNMEASURED = 99_999_999  # the number in an object that no watch is to count
_REVISION = re.compile(rb'"resourceVersion":"(\d+)"')


class WatchGroup:
    """Watchers spread over processes."""

    def __init__(self, bench: Bench, processes: int) -> None:
        self._bench = bench
        self._processes = [WatchProcess() for _ in range(processes)]
        self._read_every = READ_EVERY if bench.options.receive == "raw" else 1
        bench.machine.helpers = [process.pid for process in self._processes]

    def open(self, path: str, form: str, count: int, *, query: str = "") -> tuple[int, str]:
        """Open `count` watches from the collection's present revision; how many failed, and why the first."""
        watch = f"{path}?watch=true&timeoutSeconds=3600&resourceVersion={revision_of(self._bench, path)}{query}"
        accept = self._bench.types.of(form) + (";stream=watch" if form == "pb" else "")
        endpoint = replace(self._bench.endpoint, streams=self._bench.options.http2_streams)
        for i, process in enumerate(self._processes):
            share = len(range(i, count, len(self._processes)))
            process.open(endpoint, watch, accept, form == "pb", share, self._read_every)
        answers: list[tuple[int, str]] = [process.answer() for process in self._processes]
        return sum(failed for failed, _ in answers), next((reason for _, reason in answers if reason), "")

    def begin_phase(self) -> None:
        for process in self._processes:
            process.begin_phase()
        for process in self._processes:
            process.answer()

    def settle(self, writes: Sequence[Write]) -> Phase:
        """Return what all watchers saw once they have all `writes`, or nothing comes any more."""
        for process in self._processes:
            process.settle(writes)
        phase = Phase()
        for process in self._processes:
            phase.add(process.answer())
        return phase

    def close(self) -> None:
        self._bench.machine.helpers = []
        for process in self._processes:
            process.close()


def revision_of(bench: Bench, path: str) -> int:
    """Return the present revision of a collection; BenchError if it cannot be listed."""
    connection = Connection(bench.endpoint)
    answer = connection.call(bench.endpoint.request("GET", f"{path}?limit=1"))
    connection.close()
    found = _REVISION.search(answer.body)
    if answer.status != 200 or found is None:
        raise BenchError(f"list {path}: {answer.problem(JSON)}")
    return int(found[1])


@contextmanager
def watch_group(bench: Bench) -> Iterator[WatchGroup]:
    """Watchers that are closed afterwards."""
    group = WatchGroup(bench, bench.options.watch_processes)
    try:
        yield group
    finally:
        group.close()


class Writer:
    """The writes of one run: odd numbers create an object, even ones patch the worker's own."""

    def __init__(self, bench: Bench, subject: Subject, path: str, workers: int) -> None:
        self._bench = bench
        self._template = subject.template
        self._path = path
        self.loop = ClosedLoop(bench.endpoint, workers)
        self._sent_ns: dict[int, int] = {}
        self.writes: list[Write] = []
        for worker in range(workers):
            body = self._template.render(numbered("own", worker), UNMEASURED, shard=worker)
            self._once(bench.endpoint.request("POST", path, JSON, JSON, body))

    def make(self, worker: int, number: int) -> bytes:
        """Return the request of write `number`; its time begins now."""
        if number % 2:
            body = self._template.render(numbered("w", number), number)
            request = self._bench.endpoint.request("POST", self._path, JSON, JSON, body)
        else:
            own = f"{self._path}/{numbered('own', worker)}"
            request = self._bench.endpoint.request("PATCH", own, JSON, MERGE_PATCH, sequence_patch(number))
        self._sent_ns[number] = time.monotonic_ns()
        return request

    def done(self, worker: int, number: int, answer: Answer) -> None:
        """Write `number` was acknowledged."""
        found = _REVISION.search(answer.body)
        revision = int(found[1]) if found else 0
        self.writes.append(Write(revision, number, self._sent_ns[number], time.monotonic_ns()))

    def _once(self, request: bytes) -> None:
        connection = Connection(self._bench.endpoint)
        problem = connection.call(request).problem(JSON)
        connection.close()
        if problem:
            raise BenchError(f"watch: {problem}")


def fanout(bench: Bench) -> None:
    """Measure each number of watchers in each format: open them, write at a fixed rate, then in closed loops."""
    options = bench.options
    for subject in bench.subjects("pods"):
        for form in options.watch_formats:
            if form in subject.forms:
                for i, watchers in enumerate(options.watchers):
                    rate = options.watch_rates[min(i, len(options.watch_rates) - 1)]
                    flat = options.watch_flat[min(i, len(options.watch_flat) - 1)]
                    with watch_group(bench) as group:
                        _run(bench, group, subject, form, watchers, rate, flat)


def _run(bench: Bench, group: WatchGroup, subject: Subject, form: str, watchers: int, rate: int, flat: int) -> None:
    path = subject.within(bench.namespace())
    writer = Writer(bench, subject, path, bench.options.watch_writers)
    common: dict[str, object] = {"kind": subject.plural, "watchers": watchers, "format": form}
    before = bench.machine.snapshot()
    began = time.monotonic()
    failed, reason = group.open(path, form, watchers)
    fields: dict[str, object] = {**common, "failed": failed, "errors": failed}
    if reason:
        fields["first_error"] = reason
    fields["open_secs"] = round(time.monotonic() - began, 3)
    bench.emit("watch_open", {**fields, **bench.machine.usage(before, watchers)})
    time.sleep(SETTLE_S)
    paced = max(1, round(rate * bench.options.watch_seconds))

    def write_paced() -> Result:
        return _paced(writer, paced, rate)

    def write_flat_out() -> Result:
        return writer.loop.run(writer.make, first=paced, count=flat, done=writer.done)

    _phase(bench, group, writer, "watch_paced", common, write_paced)
    _phase(bench, group, writer, "watch_flat_out", common, write_flat_out)
    writer.loop.close()


def _paced(writer: Writer, count: int, rate: int) -> Result:
    """Write at a fixed rate, one at a time."""
    result = Result()
    began = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        one = writer.loop.run(writer.make, first=number, count=1, done=writer.done)
        result.errors += one.errors
        result.first_error = result.first_error or one.first_error
    result.wall_s = time.monotonic() - began
    return result


def _phase(
    bench: Bench,
    group: WatchGroup,
    writer: Writer,
    scenario: str,
    common: dict[str, object],
    write: Callable[[], Result],
) -> None:
    """Write, wait until everything is delivered, and print the line."""
    writer.writes = []
    group.begin_phase()
    bench.machine.await_quiet(bench.options.quiet)
    before = bench.machine.snapshot()
    began = time.monotonic_ns()
    written = write()
    phase = group.settle(writer.writes)
    tally = phase.tally
    usage = bench.machine.usage(before, tally.deliveries)
    per_delivery = usage.pop("server_cpu_ms_per_op", None)
    if isinstance(per_delivery, float):
        usage["server_cpu_us_per_delivery"] = round(per_delivery * 1000, 2)
    latencies, after = sorted(tally.latencies_ns), sorted(tally.after_answer_ns)
    faults = tally.lost + tally.duplicated + tally.out_of_order + tally.rv_mismatch + phase.ended
    fields: dict[str, object] = {
        **common,
        "writes": len(writer.writes),
        "write_errors": written.errors,
        "errors": faults + written.errors,
        "deliveries": tally.deliveries,
        "lost": tally.lost,
        "duplicated": tally.duplicated,
        "out_of_order": tally.out_of_order,
        "rv_mismatch": tally.rv_mismatch,
        "ended": phase.ended,
        "other_events": phase.others,
        "not_read": phase.unread,
        "p50_ms": percentile_ms(latencies, 0.5),
        "p99_ms": percentile_ms(latencies, 0.99),
        "max_ms": percentile_ms(latencies, 1.0),
        "p50_after_ack_ms": percentile_ms(after, 0.5),
        "p99_after_ack_ms": percentile_ms(after, 0.99),
        "writes_per_s": round(len(writer.writes) / written.wall_s, 1),
        "deliveries_per_s": round(tally.deliveries / max(1, tally.last_ns - began) * 1e9, 1),
        "bytes_per_event": phase.bytes // max(1, phase.events),
        **usage,
    }
    if reason := written.first_error or phase.first_error:
        fields["first_error"] = reason
    bench.emit(scenario, fields)
