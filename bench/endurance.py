"""Endurance: watchers, writes of every kind, lost connections and compactions, for as long as one likes.

Nothing may grow: what is stored stays the same, so memory and open files must too. No watcher may miss an event.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from bench.churn import Churn
from bench.fanout import revision_of
from bench.http1 import BenchError, Connection
from bench.machine import open_files
from bench.session import Bench
from bench.tail_process import TailProcess, Tally

WRITES_PER_S = 40
PHASE_S = 60.0
DRAIN_S = 3.0
LOOK_S = 0.05
GONE = b'"code":410'


@dataclass(slots=True)
class Course:
    """Memory and open files at the end of each phase."""

    rss_mib: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    wrong: int = 0

    @property
    def swing_percent(self) -> float:
        """Return the largest deviation of memory from its mean in the second half."""
        half = self.rss_mib[len(self.rss_mib) // 2 :]
        mean = sum(half) / len(half)
        return round(100 * max(abs(rss - mean) for rss in half) / mean, 1)


def endurance(bench: Bench) -> None:
    """Emit a line for each minute, and one at the end."""
    time.sleep(min(DRAIN_S, bench.options.endurance_seconds))
    files_before = open_files(bench.machine.pids)
    watchers = TailProcess()
    bench.machine.helpers = [watchers.pid]
    churns = [_churn(bench, i) for i in range(bench.options.endurance_collections)]
    course, total = Course(), Tally()
    try:
        oldest = _open(bench, watchers, churns)
        end = time.monotonic() + bench.options.endurance_seconds
        while time.monotonic() < end:
            tally = _phase(bench, watchers, churns, min(PHASE_S, end - time.monotonic()), course)
            total.add(tally)
        expired = _is_expired(bench, churns[0].path, oldest)
        watchers.ask("close")
        watchers.answer()
    finally:
        watchers.close()
        for churn in churns:
            churn.close()
    left = _left(bench, files_before)
    bench.emit(
        "endurance",
        {
            "seconds": bench.options.endurance_seconds,
            "deliveries": total.deliveries,
            "resets": total.resets,
            "errors": total.wrong + bool(total.first_error),
            "first_revision_expired": expired,
            "files_left": left,
            "rss_mib_first": course.rss_mib[0],
            "rss_mib_last": course.rss_mib[-1],
            "rss_swing_percent_second_half": course.swing_percent,
        },
    )


def _churn(bench: Bench, number: int) -> Churn:
    subject = bench.subject(("configmaps", "pods")[number % 2])
    return Churn(bench, subject, subject.within(bench.namespace()))


def _open(bench: Bench, watchers: TailProcess, churns: list[Churn]) -> int:
    """Return all watches, half of them in Protobuf; returns the revision of the first ones."""
    share = max(1, bench.options.endurance_watchers // len(churns))
    first = revision_of(bench, churns[0].path)
    for number, churn in enumerate(churns):
        form = ("json", "pb")[number // 2 % 2]
        accept = bench.types.of(form) + (";stream=watch" if form == "pb" else "")
        watchers.ask("open", bench.endpoint, churn.path, revision_of(bench, churn.path), accept, form == "pb", share)
        watchers.answer()
    return first


def _phase(bench: Bench, watchers: TailProcess, churns: list[Churn], seconds: float, course: Course) -> Tally:
    """Write in turn to all collections, cut a connection a second, and see what has come; prints a line."""
    before = bench.machine.snapshot()
    began = time.monotonic()
    writes = 0
    while (at := time.monotonic() - began) < seconds:
        if writes > at * WRITES_PER_S:
            time.sleep(1 / WRITES_PER_S)
            continue
        churns[writes % len(churns)].write()
        writes += 1
        if writes % WRITES_PER_S == 1:  # from the first on, so that no phase is without, however slow the machine
            watchers.ask("reset", 1)
            watchers.answer()
    watchers.ask("settle", {churn.path: churn.take_expected() for churn in churns})
    tally: Tally = watchers.answer()
    course.rss_mib.append(round(bench.machine.rss_mib(), 1))
    course.files.append(open_files(bench.machine.pids))
    fields: dict[str, object] = {
        "writes": writes,
        "deliveries": tally.deliveries,
        "resets": tally.resets,
        "errors": tally.wrong + bool(tally.first_error),
        "open_files": course.files[-1],
        **bench.machine.usage(before, writes),
    }
    if tally.first_error:
        fields["first_error"] = tally.first_error
    bench.emit("endurance_minute", fields)
    return tally


def _left(bench: Bench, before: int) -> int:
    """Return how many more files are open than before, once connections that end have had their time."""
    end = time.monotonic() + DRAIN_S
    while (left := open_files(bench.machine.pids) - before) > 0 and time.monotonic() < end:
        time.sleep(LOOK_S)
    return left


def _is_expired(bench: Bench, path: str, revision: int) -> bool:
    """Report whether a watch from `revision` is told that it is too old."""
    connection = Connection(bench.endpoint)
    watch = f"{path}?watch=true&timeoutSeconds=1&resourceVersion={revision}"
    answer = connection.call(bench.endpoint.request("GET", watch))
    connection.close()
    if answer.status not in (200, 410):
        raise BenchError(f"watch of an old revision: status {answer.status}")
    return GONE in answer.body
