"""Cost against size: the same requests to stores with more and more objects, and how the costs grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from bench.holdup import Probe
from bench.http1 import JSON, BenchError
from bench.machine import cpu_s, rss_mib, running_s
from bench.options import Options
from bench.scale_reads import Cost, Questions, figures
from bench.scale_store import make_store, seed
from bench.server import Server, data_directory
from bench.session import Emit, MediaTypes
from bench.subjects import Subject, subjects
from orchtw.naming.naming import Naming
from orchtw.storage.store import KeyValue

START_LIMIT_S = 3600.0
REST_S = 0.5  # after a start; again and again until the controllers have seen what there is
RESTING = 0.1  # of a CPU: what a server may use that has nothing to do
REST_LIMIT_S = 900.0
FIRST = 6  # repetitions that are not counted: encodings, indexes and compiled functions are made then

Ask = Callable[[int], Cost]
"""Puts a question; its number says about which objects."""


def scale(options: Options, emit: Emit) -> None:
    """Pods and ConfigMaps of each size, then a line for each kind and step with the slopes."""
    naming = Naming.orch()
    types = MediaTypes(
        protobuf=naming.protobuf_media_type, table=f"{JSON};as=Table;v=v1;g={options.meta_group or naming.meta_group}"
    )
    wanted = {"pods": options.scale_pods, "configmaps": options.scale_configmaps}
    for plural, sizes in wanted.items():
        subject = subjects(options.kib)[plural]
        items = seed(subject, options.server_flag) if sizes else ()
        found = [_measure(options, emit, subject, (items, size), types) for size in sizes]
        for step in range(1, len(sizes)):
            emit("scale_slope", _slope(plural, sizes[step - 1 : step + 1], found[step - 1 : step + 1]))


def _measure(
    options: Options, emit: Emit, subject: Subject, store: tuple[Sequence[KeyValue], int], types: MediaTypes
) -> dict[str, float]:
    """Return a store of so many copies of a seed; milliseconds of the server's CPU by what was asked."""
    items, size = store
    about = {"kind": subject.plural, "objects": size}
    found: dict[str, float] = {}
    with data_directory() as directory:
        began = time.monotonic()
        make_store(directory, items, size)
        emit("scale_store", {**about, "secs": round(time.monotonic() - began, 1)})
        server = Server(directory, options.server_flag, START_LIMIT_S)
        try:
            started = {"ready_ms": round(server.ready_s * 1000), "cpu_ms": round(cpu_s(server.pid) * 1000)}
            found["start"] = started["cpu_ms"]
            _await_rest(server.pid)
            emit("scale_start", {**about, **started, **_memory(server.pid, about), "errors": 0})
            questions = Questions(server.endpoint, server.pid, subject, size, types)
            for name, ask in questions.each().items():
                emit(f"scale_{name}", about | _asked(found, name, ask, options.scale_times))
            questions.close()
            _lists(server, emit, questions, about, types)
        finally:
            server.stop()
    return found


def _await_rest(pid: int) -> None:
    """Wait until the server does nothing of itself any more, which would count with the questions."""
    end = time.monotonic() + REST_LIMIT_S
    used = REST_S
    while used > RESTING * REST_S and time.monotonic() < end:
        before = running_s(pid)
        time.sleep(REST_S)
        used = running_s(pid) - before


def _asked(found: dict[str, float], name: str, ask: Ask, times: int) -> dict[str, object]:
    """Return the fields of one question, which is put some times."""
    try:
        for number in range(FIRST):
            ask(number)
        costs = [ask(number) for number in range(FIRST, FIRST + times)]
    except BenchError as problem:
        return {"errors": 1, "first_error": str(problem)}
    found[name] = median(cost.cpu_s for cost in costs) * 1000
    return {**figures(costs), "errors": 0}


def _lists(server: Server, emit: Emit, questions: Questions, about: Mapping[str, object], types: MediaTypes) -> None:
    """Everything in each form, twice, with how long others wait meanwhile; and the memory it leaves behind."""
    with Probe(server.endpoint, questions.sample) as probe:
        for name, accept, zipped in (
            ("json", JSON, False), ("pb", types.protobuf, False), ("table", types.table, False), ("gzip", JSON, True),
        ):  # fmt: skip
            for again in ("", "_again"):
                probe.start()
                try:
                    cost = questions.whole(accept, zipped)
                except BenchError as problem:
                    emit(f"scale_list_{name}{again}", {**about, "errors": 1, "first_error": str(problem)})
                    probe.stop()
                    continue
                waits = {"livez_max_ms": round(probe.stop().livez_ms, 1)}
                memory = _memory(server.pid, about)
                emit(f"scale_list_{name}{again}", {**about, **figures([cost]), **waits, **memory, "errors": 0})


def _memory(pid: int, about: Mapping[str, object]) -> dict[str, object]:
    resident = rss_mib(pid)
    return {"rss_mib": round(resident, 1), "kib_per_object": round(resident * 1024 / int(str(about["objects"])), 2)}


def _slope(plural: str, sizes: Sequence[int], found: Sequence[Mapping[str, float]]) -> dict[str, object]:
    """Return the larger store's cost as a multiple of the smaller one's; None where that took no time to speak of."""
    small, large = found
    ratios = {name: round(large[name] / cost, 2) if cost else None for name, cost in small.items() if name in large}
    return {"kind": plural, "from": sizes[0], "to": sizes[1], **ratios, "errors": 0}
