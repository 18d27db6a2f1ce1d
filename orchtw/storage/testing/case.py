# mypy: disallow-untyped-calls=False
"""Base of the conformance tests of stores: the store, and helpers that write, read and follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from orchtw.storage.store import Op, Store, Subscription
from orchtw.storage.testing.recorder import Recorder

if TYPE_CHECKING:
    from twisted.trial.unittest import TestCase as _Base
else:
    _Base = object

PODS = "/registry/pods/"
MOMENT_S = 0.02


class StoreCase(_Base):
    """Tests with a store of their own, empty and started; `life_s` is a lifetime that it tells from twice as much."""

    store: Store
    life_s: float = 1.0

    def make_store(self) -> Store:
        """Return an empty store that has not been started."""
        raise NotImplementedError

    async def setUp(self) -> None:  # type: ignore[override]
        """Start an empty store and stop it afterwards."""
        self.store = self.make_store()
        await self.store.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.store.stop()))

    async def put(self, key: str, value: bytes = b"v", expected: int | None = None) -> int:
        """Write, which must succeed; return the revision."""
        outcome = await self.store.commit(Op(key, value, expected))
        self.assertGreater(outcome.revision, 0, f"{key} was not written")
        return outcome.revision

    async def delete(self, key: str, expected: int | None = None) -> int:
        """Delete, which must succeed; return the revision."""
        outcome = await self.store.commit(Op(key, None, expected))
        self.assertGreater(outcome.revision, 0, f"{key} was not deleted")
        return outcome.revision

    async def names(self, prefix: str = PODS, *, revision: int = 0) -> list[str]:
        """Return the keys that a list shows."""
        return [item.key for item in (await self.store.list(prefix, revision=revision)).items]

    async def follow(self, after: int) -> tuple[Recorder, Subscription]:
        """Return a recorder subscribed after revision `after`, stopped at the test's end."""
        recorder = Recorder()
        subscription = await self.store.subscribe(after, recorder.deliver)
        self.addCleanup(subscription.stop)
        return recorder, subscription

    async def moment(self) -> None:
        """Let a moment pass, in tests that go on until a value has expired."""
        from twisted.internet import reactor  # trial's; stores and their users are given one

        await deferLater(reactor, MOMENT_S)
