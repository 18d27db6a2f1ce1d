"""The first reads after a start: of large objects there is then nothing but what the store keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench.holdup import Outcome, Probe, call, figures, must, once, request_of
from bench.holdup_case import Case, Step
from bench.holdup_reads import BIG, MANY_KEYS, PROTOBUF, TABLE, YAML
from bench.http1 import JSON
from bench.options import Options
from bench.server import Server, data_directory
from bench.session import Emit
from bench.subjects import CORE

NAMESPACE = f"{CORE}/namespaces/default"
PLACES = {"{namespace}": NAMESPACE}
STORED = (
    MANY_KEYS,
    replace(BIG, body=lambda: BIG.body().replace(b'"name":"a"', b'"name":"b"')),
    Step(method="POST", path="{namespace}/configmaps", body=lambda: b'{"metadata":{"name":"small"}}'),
)
CASES = tuple(
    Case(name=f"after a start: {name}", method=method, path="{namespace}/configmaps" + path, accept=accept)
    for name, method, path, accept in (
        ("get, JSON", "GET", "/a", JSON),
        ("list, JSON", "GET", "", JSON),
        ("list, indented", "GET", "?pretty=true", JSON),
        ("list, YAML", "GET", "", YAML),
        ("list, Protobuf", "GET", "", PROTOBUF),
        ("list, Table", "GET", "", TABLE),
        ("list, Table with objects", "GET", "?includeObject=Object", TABLE),
        ("watch, JSON", "GET", "?watch=true&timeoutSeconds=1", JSON),
        ("watch, Table with objects", "GET", "?watch=true&timeoutSeconds=1&includeObject=Object", TABLE),
        ("delete", "DELETE", "/a?dryRun=All", JSON),
    )
)


def holdup_restart(options: Options, emit: Emit) -> None:
    """Store objects of 60,000 keys and of 2 MiB, then a server of its own for each case: the best of its starts."""
    with data_directory() as directory:
        server = Server(directory, options.server_flag)
        try:
            for step in STORED:
                must(call(server.endpoint, request_of(server.endpoint, step, PLACES, step.body())), step)
        finally:
            server.stop()
        for case in CASES:
            outcomes = [_started(directory, options, case) for _ in range(options.repeats)]
            best = min(outcomes, key=lambda outcome: outcome.waits.livez_ms)
            best.worst_ms = max(outcome.waits.livez_ms for outcome in outcomes)
            emit("holdup-restart", figures(case.name, best, 0))


def _started(directory: Path, options: Options, case: Case) -> Outcome:
    server = Server(directory, options.server_flag)
    try:
        with Probe(server.endpoint, f"{NAMESPACE}/configmaps/small") as probe:
            return once(server.endpoint, probe, request_of(server.endpoint, case, PLACES, b""))
    finally:
        server.stop()
