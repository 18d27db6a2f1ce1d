"""Metrics of encryption at rest (reference METRIC-12)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchtw.metrics.series import ShownFamily, counters, doubling, histograms

TO_STORAGE: Final = "to_storage"
FROM_STORAGE: Final = "from_storage"

OK, UNKNOWN = "OK", "Unknown"
"""Results: the release uses codes of gRPC here, of which only Unknown for its own errors."""

NO_PROVIDER: Final = "unknown"
IDENTITY: Final = "identity"

BOUNDS_S: Final = doubling(5e-6, 14)
"""Buckets from 5 µs, for ciphers, to 41 ms, for services."""


class SealingMetrics:
    """Metric families; resources that are not encrypted are not counted."""

    def __init__(self) -> None:
        self._operations = counters(
            "apiserver_storage_transformation_operations_total",
            "Values encrypted and decrypted, by provider and outcome.",
            ("transformation_type", "transformer_prefix", "status"))  # fmt: skip
        self._durations = histograms(
            "apiserver_storage_transformation_duration_seconds",
            "Time to encrypt or decrypt a value in seconds, including calls to services.", BOUNDS_S,
            ("transformation_type",))  # fmt: skip
        misses = counters(
            "apiserver_storage_envelope_transformation_cache_misses_total",
            "Values whose data key was not cached, so that the service was called.")  # fmt: skip
        generations = histograms(
            "apiserver_storage_data_key_generation_duration_seconds", "Time to generate a data key.", BOUNDS_S)
        failures = counters(
            "apiserver_storage_data_key_generation_failures_total", "Failures to generate a data key.")  # fmt: skip
        self.misses, self.generations, self.failures = misses.of(), generations.of(), failures.of()
        self._families: tuple[ShownFamily[Any], ...] = (
            self._operations, self._durations, misses, generations, failures
        )  # fmt: skip

    def families(self) -> Iterable[ShownFamily[Any]]:
        """Return the families for `/metrics`."""
        return self._families

    def ended(self, kind: str, prefix: str, seconds: float) -> None:
        """Count a value sealed or opened by the provider with this prefix."""
        self._operations.of(kind, prefix, OK).value += 1
        self._durations.of(kind).observe(seconds)

    def failed(self, kind: str, prefix: str) -> None:
        """Count a value that could not be sealed or opened."""
        self._operations.of(kind, prefix, UNKNOWN).value += 1
