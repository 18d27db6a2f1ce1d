# mypy: disallow-untyped-calls=False
"""A store that workers share with its owner, as conformance tests."""

from __future__ import annotations

from twisted.trial.unittest import TestCase

from orchtw.storage.interface import Store
from orchtw.storage.testing import StoreConformance
from tests.storage.remote.owned import Owned, worker_with_company


class WorkerConformanceTests(StoreConformance, TestCase):
    """A worker's store, beside another worker."""

    def make_store(self) -> Store:
        """An empty store."""
        return worker_with_company(Owned(self.mktemp()))
