"""Families as a client of `/metrics` reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from orchtw.metrics.exposition import parts
from orchtw.metrics.series import ShownFamily


def text_of(families: Iterable[ShownFamily[Any]]) -> str:
    """Return the families in the plain format."""
    return b"".join(parts(families, open_metrics=False)).decode()


def sample(families: Iterable[ShownFamily[Any]], name: str, /, **labels: str) -> float | None:
    """Return the value of one sample, or None if it is not shown."""
    for family in text_string_to_metric_families(text_of(families)):
        for each in family.samples:
            if each.name == name and each.labels == labels:
                return float(each.value)
    return None
