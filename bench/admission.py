"""Cost of admission to a write, read off the server's own metrics, for a namespace without and one with policies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import orjson

from bench.bodies import numbered, sequence_patch
from bench.closed_loop import ClosedLoop
from bench.hooks import Hook, configured, others
from bench.http1 import JSON, BenchError, Connection
from bench.session import Bench
from bench.subjects import Subject

MERGE_PATCH: Final = "application/merge-patch+json"
STEP: Final = "apiserver_admission_step_admission_duration_seconds"
PLUGIN: Final = "apiserver_admission_controller_admission_duration_seconds"
PARTS: Final = 10
LEAST: Final = 10  # writes in a part
_SAMPLE: Final = re.compile(r"^(\w+)_(sum|count)\{(.*)\} (\S+)$", re.M)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')
_LABELS: Final = {"pod-security.{}/enforce": "baseline", "pod-security.{}/warn": "restricted"}

Series = dict[tuple[str, str, str], tuple[float, float]]
"""Seconds and writes by plugin ("" for all of them), half and operation."""

Make = Callable[[int], bytes]


def admission(bench: Bench) -> None:
    """Create, change and delete objects one after the other, and say how long the plugins took with each.

    In the second namespace are a LimitRange, a ResourceQuota and levels of pod security. With the third there are a
    hundred webhooks for other things.
    """
    rounds: list[tuple[str, str, list[Hook]]] = [
        ("", bench.namespace(), []),
        ("_policies", _furnished(bench), []),
        ("_webhooks", bench.namespace(), others()),
    ]
    for suffix, path, hooks in rounds:
        with configured(bench, hooks):
            for subject in bench.subjects("configmaps", "pods"):
                for operation, make in _writes(bench, subject.within(path), subject):
                    _measure(bench, f"admission_{operation.lower()}_{subject.plural}{suffix}", operation, make)


def _writes(bench: Bench, collection: str, subject: Subject) -> Iterator[tuple[str, Make]]:
    """Return the requests of each operation, by a number."""
    create, endpoint = bench.creating(collection, subject, "a"), bench.endpoint

    def path(number: int) -> str:
        return f"{collection}/{numbered('a', number)}"

    def change(number: int) -> bytes:
        return endpoint.request("PATCH", path(number), JSON, MERGE_PATCH, sequence_patch(number + 1))

    def delete(number: int) -> bytes:
        return endpoint.request("DELETE", f"{path(number)}?gracePeriodSeconds=0")

    return iter((("CREATE", lambda number: create(0, number)), ("UPDATE", change), ("DELETE", delete)))


def _measure(bench: Bench, scenario: str, operation: str, make: Make) -> None:
    """Send `--n-create` of the requests over one connection; the line has means, in microseconds a write.

    They are those of the best of ten parts, or fewer, where each would have fewer than ten writes: whatever else runs
    on the machine only ever adds to a time.
    """
    bench.machine.await_quiet(bench.options.quiet)
    rounds = min(PARTS, max(1, bench.options.n_create // LEAST))
    count = bench.options.n_create // rounds
    loop, parts, ops, errors, first_error = ClosedLoop(bench.endpoint, 1), [], 0, 0, ""
    after = _series(bench)
    for part in range(rounds):
        before = after
        result = loop.run(partial(_numbered, make, part * count), count=count)
        after = _series(bench)
        parts.append(_taken(operation, before, after))
        ops, errors = ops + len(result.latencies_ns), errors + result.errors
        first_error = first_error or result.first_error
    loop.close()
    best = min(parts, key=lambda part: part["whole_us"])
    bench.emit(scenario, {**best, "ops": ops, "errors": errors, **({"first_error": first_error} if errors else {})})


def _numbered(make: Make, begin: int, worker: int, number: int) -> bytes:
    return make(begin + number)


def _taken(operation: str, before: Series, after: Series) -> dict[str, Any]:
    """Return the fields of what was measured in between."""
    taken: dict[str, dict[str, float]] = {"admit": {}, "validate": {}}
    for key, (seconds, count) in after.items():
        plugin, half, of = key
        seconds_before, count_before = before.get(key, (0.0, 0.0))
        if of == operation and count > count_before:
            taken[half][plugin] = round((seconds - seconds_before) / (count - count_before) * 1e6, 2)
    fields: dict[str, Any] = {f"{half}_us": each.pop("", 0.0) for half, each in taken.items()}
    fields["whole_us"] = round(sum(fields.values()), 2)
    return fields | {f"{half}_plugins_us": each for half, each in taken.items()}


def _series(bench: Bench) -> Series:
    """Return the server's metrics so far."""
    connection = Connection(bench.endpoint)
    answer = connection.call(bench.endpoint.request("GET", "/metrics"))
    connection.close()
    if answer.status != 200:
        raise BenchError(f"GET /metrics: {answer.status}")
    sums: dict[tuple[str, str, str], float] = {}
    counts: dict[tuple[str, str, str], float] = {}
    for name, kind, labels, value in _SAMPLE.findall(answer.body.decode()):
        if name in (STEP, PLUGIN):
            found = dict(_LABEL.findall(labels))
            key = (found.get("name", ""), found["type"], found["operation"])
            into = sums if kind == "sum" else counts
            into[key] = into.get(key, 0.0) + float(value)
    return {key: (sums[key], count) for key, count in counts.items()}


def _furnished(bench: Bench) -> str:
    """Return the path of a namespace with policies that every object keeps to."""
    path = bench.namespace()
    connection = Connection(bench.endpoint)
    domain = "kubernetes.io" if "k8s.io" in bench.types.table else "orch.io"
    labels = {key.format(domain): value for key, value in _LABELS.items()}
    patch = orjson.dumps({"metadata": {"labels": labels}})
    answer = connection.call(bench.endpoint.request("PATCH", path, JSON, MERGE_PATCH, patch))
    connection.close()
    if answer.status != 200:
        raise BenchError(f"PATCH {path}: {answer.problem(JSON)}")
    limits = {"type": "Container", "max": {"memory": "64Gi"}, "defaultRequest": {"cpu": "1m"}}
    hard = {"count/configmaps": "1000000", "pods": "1000000", "requests.memory": "1000Ti"}
    named = {"metadata": {"name": "bench"}}
    bench.create(f"{path}/limitranges", {**named, "spec": {"limits": [limits]}})
    bench.create(f"{path}/resourcequotas", {**named, "spec": {"hard": hard}})
    return path
