"""The conformance tests that every store passes, as a mixin for trial's TestCase.

```python
class SqliteConformanceTests(StoreConformance, TestCase):
    def make_store(self) -> Store: ...
```
A store under test has no compaction of its own during a test; its keys, if it is a shared one, are its own.
"""

from __future__ import annotations

from orchtw.storage.testing.case import PODS
from orchtw.storage.testing.ends import EndRules, KeptRules, LifeRules
from orchtw.storage.testing.feeds import FeedRules
from orchtw.storage.testing.lists import HistoryRules, ListRules
from orchtw.storage.testing.recorder import Recorder
from orchtw.storage.testing.writes import KeyRules, ReplaceRules, WriteRules

__all__ = ["PODS", "Recorder", "StoreConformance"]


class StoreConformance(
    WriteRules, ReplaceRules, KeyRules, ListRules, HistoryRules, FeedRules, EndRules, KeptRules, LifeRules
):
    """Conformance suite of the `Store` contract. `make_store` makes an empty store, not started."""
