"""Cost of watchers that have nothing to see."""

from __future__ import annotations

import time

from bench.fanout import watch_group
from bench.session import Bench
from bench.subjects import Subject

REST_S = 1.0  # for memory to settle, or as long as the watchers idle if that is less


def idle(bench: Bench) -> None:
    """Open watches on an empty collection (of ConfigMaps); memory and CPU with them and without."""
    for subject in bench.subjects("configmaps"):
        _idle(bench, subject)


def _idle(bench: Bench, subject: Subject) -> None:
    path = subject.within(bench.namespace())
    machine, options = bench.machine, bench.options
    rest_s = min(REST_S, options.idle_seconds)
    time.sleep(rest_s)
    machine.await_quiet(options.quiet)
    rss_before = machine.rss_mib()
    before = machine.snapshot()
    time.sleep(options.idle_seconds)
    without = machine.usage(before)
    with watch_group(bench) as group:
        before = machine.snapshot()
        failed, reason = group.open(path, "json", options.idle)
        opening = machine.usage(before)
        time.sleep(rest_s)
        before = machine.snapshot()
        time.sleep(options.idle_seconds)
        usage = machine.usage(before)
        rss_open = machine.rss_mib()
    time.sleep(rest_s)
    fields: dict[str, object] = {
        "kind": subject.plural,
        "watchers": options.idle,
        "http2_streams": options.http2_streams,
        "failed": failed,
        "errors": failed,
        **usage,
        "open_secs": opening["secs"],
        "open_cpu_s": opening["server_cpu_total_s"],
        "idle_cpu_s_without": without["server_cpu_total_s"],
        "idle_cpu_s_with": usage["server_cpu_total_s"],
        "rss_before_mib": round(rss_before, 1),
        "rss_open_mib": round(rss_open, 1),
        "rss_closed_mib": round(machine.rss_mib(), 1),
        "kib_per_watcher": round((rss_open - rss_before) * 1024 / options.idle, 1),
    }
    if reason:
        fields["first_error"] = reason
    bench.emit("idle_watchers", fields)
