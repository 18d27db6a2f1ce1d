"""Configurations of admission webhooks, for the scenarios that need some."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson

from bench.http1 import JSON, BenchError, Connection
from bench.session import Bench

MUTATING: Final = "mutatingwebhookconfigurations"
VALIDATING: Final = "validatingwebhookconfigurations"
OTHERS: Final = 100
SETTLED_S: Final = 1.5
"""After which a configuration counts, or no longer does."""

_NOWHERE: Final = {"url": "https://127.0.0.1:9/"}

Hook = tuple[str, Mapping[str, Any]]
"""Which configurations it is one of, and the webhook."""


def hook(plural: str, client_config: Mapping[str, str], resource: str = "*", **labels: str) -> Hook:
    """Return a webhook for creates, changes and deletes, in namespaces with these labels."""
    operations = ["CREATE", "UPDATE", "DELETE"]
    rule = {"operations": operations, "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource]}
    found = {
        "name": "hook.bench.example",
        "rules": [rule],
        "clientConfig": client_config,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "namespaceSelector": {"matchLabels": labels},
    }
    return plural, found


def others() -> list[Hook]:
    """Return a hundred that no ConfigMap or Pod of the benchmarks concerns: by their rules, or by the namespace."""
    kinds = (MUTATING, VALIDATING)
    by_rule = [hook(kinds[n % 2], _NOWHERE, "nodes") for n in range(OTHERS // 2)]
    return by_rule + [hook(kinds[n % 2], _NOWHERE, no="where") for n in range(OTHERS // 2)]


@contextmanager
def configured(bench: Bench, hooks: Sequence[Hook]) -> Iterator[None]:
    """Keep a configuration for each webhook while the block runs."""
    group = bench.types.table.rpartition("g=")[2].replace("meta.", "admissionregistration.")
    paths = []
    for number, (plural, found) in enumerate(hooks):
        body = orjson.dumps({"metadata": {"name": f"bench-{number}"}, "webhooks": [found]})
        _call(bench, "POST", f"/apis/{group}/v1/{plural}", body, 201)
        paths.append(f"/apis/{group}/v1/{plural}/bench-{number}")
    _settle(bench, paths)
    yield
    for path in paths:
        _call(bench, "DELETE", path, b"", 200)
    _settle(bench, paths)


def _settle(bench: Bench, paths: Sequence[str]) -> None:
    if paths:
        time.sleep(min(SETTLED_S, bench.options.rest_seconds))


def _call(bench: Bench, method: str, path: str, body: bytes, status: int) -> None:
    connection = Connection(bench.endpoint)
    answer = connection.call(bench.endpoint.request(method, path, JSON, JSON, body))
    connection.close()
    if answer.status != status:
        raise BenchError(f"{method} {path}: {answer.problem(JSON)}")
