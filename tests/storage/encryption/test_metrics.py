"""Metrics of sealing and opening (reference METRIC-12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.encryption.aes import AesCbc, AesGcm
from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.kms import Kms
from orchtw.storage.encryption.metrics import SealingMetrics
from orchtw.storage.encryption.provider import KeyMissing, Unreadable
from orchtw.storage.encryption.transformers import Transformer

KEY = bytes(range(32))
PLACE = b"/registry/secrets/a/b"


class Service:
    """Turns keys around, or fails."""

    broken = False

    async def encrypt(self, plain: bytes) -> bytes:
        """See `kms.Service`, as `decrypt`."""
        return plain[::-1]

    async def decrypt(self, cipher: bytes) -> bytes:
        if self.broken:
            raise Unreadable("is away")
        return cipher[::-1]


class SealingMetricsTests(SynchronousTestCase):
    """Series of `SealingMetrics` by operation."""

    def setUp(self) -> None:
        self.metrics = SealingMetrics()

    def shown(self) -> Mapping[str, Mapping[tuple[str, ...], Any]]:
        """The series by family and values: numbers, and of histograms how many there were."""
        return {
            family.name: {
                values: getattr(series, "count", None) if family.bounds else series.value
                for values, series in family.series()
            }
            for family in self.metrics.families()
        }

    def operations(self) -> Mapping[tuple[str, ...], Any]:
        return self.shown()["apiserver_storage_transformation_operations_total"]

    def test_operations(self) -> None:
        """By direction, provider without the key's name, and outcome; only what went well has a duration."""
        made = Transformer([AesGcm("a", KEY), Identity()], metrics=self.metrics)
        made.open(made.seal(b"x", PLACE), PLACE)
        made.open(b"plain", PLACE)
        self.assertRaises(Unreadable, made.open, Transformer([AesGcm("b", KEY)]).seal(b"x", PLACE), PLACE)
        self.assertRaises(Unreadable, made.open, Transformer([AesCbc("a", KEY)]).seal(b"x", PLACE), PLACE)
        gcm = "k8s:enc:aesgcm:v1:"
        expected = {
            ("to_storage", gcm, "OK"): 1,
            ("from_storage", gcm, "OK"): 1,
            ("from_storage", "identity", "OK"): 1,
            ("from_storage", gcm, "Unknown"): 1,
            ("from_storage", "unknown", "Unknown"): 1,
        }
        self.assertEqual(self.operations(), expected)
        durations = self.shown()["apiserver_storage_transformation_duration_seconds"]
        self.assertEqual(durations, {("to_storage",): 1, ("from_storage",): 2})

    def done(self, transformer: Transformer, value: bytes, *, seal: bool) -> bytes:
        """A value sealed or opened, once the service has been asked."""

        async def work() -> bytes:
            for _ in range(2):
                try:
                    return transformer.seal(value, PLACE) if seal else transformer.open(value, PLACE).value
                except KeyMissing as missing:
                    await missing.fetch()
            raise AssertionError("the key is still missing")

        return self.successResultOf(Deferred.fromCoroutine(work()))

    def test_services(self) -> None:
        """A value counts once, whichever cache has its key; an uncached key is a miss, and a fault is an outcome."""
        service = Service()

        def fresh() -> Transformer:
            return Transformer([Kms("k", service, 10, self.metrics)], metrics=self.metrics)

        sealed = self.done(fresh(), b"x", seal=True)
        self.assertEqual(self.done(fresh(), sealed, seal=False), b"x")
        service.broken = True
        closed = fresh()
        missing = self.assertRaises(KeyMissing, closed.open, sealed, PLACE)
        self.failureResultOf(Deferred.fromCoroutine(missing.fetch()), Unreadable)
        kms = "k8s:enc:kms:v1:k:"
        expected = {
            ("to_storage", kms, "OK"): 1, ("from_storage", kms, "OK"): 1, ("from_storage", kms, "Unknown"): 1
        }  # fmt: skip
        self.assertEqual(self.operations(), expected)
        shown = self.shown()
        self.assertEqual(shown["apiserver_storage_envelope_transformation_cache_misses_total"], {(): 2})
        self.assertEqual(shown["apiserver_storage_data_key_generation_duration_seconds"], {(): 1})
        self.assertEqual(shown["apiserver_storage_data_key_generation_failures_total"], {(): 0})
