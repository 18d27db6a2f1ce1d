"""Conformance of the etcd store (reference STORE-30)."""
# covers: orchtw.storage.etcd.calls, orchtw.storage.etcd.expiry, orchtw.storage.etcd.store
# covers: orchtw.storage.etcd.writing

from __future__ import annotations

from twisted.trial.unittest import TestCase

from orchtw.storage.store import Store
from orchtw.storage.testing import StoreConformance
from tests.storage.etcd.cluster import NO_ETCD, new_store, shared_cluster
from tests.vocabularies import in_both


@in_both
class EtcdConformanceTests(StoreConformance, TestCase):
    """The conformance tests over a real etcd, with a prefix for each, in which a vocabulary is recorded (reference
    STORE-1, STORE-36).
    """

    skip = NO_ETCD
    vocabulary = "orch"

    async def setUp(self) -> None:  # type: ignore[override]
        self.cluster = await shared_cluster()
        await super().setUp()

    def make_store(self) -> Store:
        return new_store(self.cluster, vocabulary=self.vocabulary)
