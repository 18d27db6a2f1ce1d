# mypy: disallow-untyped-calls=False
"""Conformance tests of expiring values, and of the store's own end."""

from __future__ import annotations

from twisted.internet.defer import Deferred, gatherResults

from orchtw import errors
from orchtw.storage.store import Change, KeyValue, Op
from orchtw.storage.testing.case import StoreCase


class EndRules(StoreCase):
    """Rules of values that expire."""

    async def lasting(self, key: str, ttl_s: float, value: bytes = b"v") -> int:
        """Write a value that expires; return the revision."""
        outcome = await self.store.commit(Op(key, value, ttl_s=ttl_s))
        self.assertGreater(outcome.revision, 0, f"{key} was not written")
        return outcome.revision

    async def test_value_ends(self) -> None:
        """A value with a lifetime exists until its end, which feeds deliver as a deletion (reference STORE-15)."""
        self.store.show_replaced()
        written = await self.lasting("/a", 1, b"1")
        kept = await self.put("/b", b"2")
        recorder, _ = await self.follow(kept)
        self.assertEqual(await self.store.get("/a"), KeyValue("/a", b"1", written, written))
        await recorder.reached(kept + 1)
        self.assertEqual(
            recorder.changes, [Change(kept + 1, "/a", None, KeyValue("/a", b"1", written, written))]
        )
        self.assertIsNone(await self.store.get("/a"))
        self.assertEqual(await self.names("/"), ["/b"])
        self.assertEqual(await self.store.revision(), kept + 1)

    async def test_each_write_says_anew_when_a_value_ends(self) -> None:
        """Each write sets the end anew: later, or never without a lifetime; a deleted key starts afresh."""
        for key in ("/longer", "/for-ever", "/deleted", "/again"):
            await self.lasting(key, self.life_s)
        await self.lasting("/longer", 3600)
        await self.put("/for-ever")
        await self.delete("/deleted")
        await self.delete("/again")
        await self.put("/again")
        recorder, _ = await self.follow(last := await self.lasting("/witness", 2 * self.life_s))
        await recorder.reached(last + 1)
        self.assertEqual([change.key for change in recorder.changes], ["/witness"])
        self.assertEqual(await self.names("/"), ["/again", "/for-ever", "/longer"])

    async def test_many_values_end(self) -> None:
        """Many values that expire at once are all deleted, each once, while others are written."""
        await gatherResults([self.store.commit(Op(f"/{n:03}", b"", ttl_s=1)) for n in range(300)])
        recorder, _ = await self.follow(await self.store.revision())
        while len({change.key for change in recorder.changes if change.value is None}) < 300:
            await self.put("/busy")
            await self.moment()
        ended = [change.key for change in recorder.changes if change.value is None]
        self.assertEqual(sorted(ended), [f"/{n:03}" for n in range(300)])
        self.assertEqual(await self.names("/"), ["/busy"])


class KeptRules(StoreCase):
    """Rules of values that last while they are renewed."""

    async def test_kept_value(self) -> None:
        """A kept value exists while it is renewed, however long that is, and is gone when it ends (CTRL-50)."""
        kept = await self.store.keep("/here", b"v", 3 * self.life_s)
        self.assertEqual((await self.store.get("/here") or self.fail()).revision, kept.revision)
        witness = Op("/witness", b"", ttl_s=4 * self.life_s)
        recorder, _ = await self.follow(written := (await self.store.commit(witness)).revision)
        while all(change.key != "/witness" for change in recorder.changes):
            self.assertTrue(await kept.renew())
            await recorder.reached(await self.put("/busy"))
            await self.moment()
        self.assertGreater(recorder.changes[-1].revision, written)
        self.assertEqual((await self.store.get("/here") or self.fail()).value, b"v")
        await kept.end()
        self.assertIsNone(await self.store.get("/here"))
        self.assertFalse(await kept.renew())

    async def test_kept_value_ends(self) -> None:
        """Without a renewal a kept value expires, and its writer learns of it."""
        kept = await self.store.keep("/here", b"v", self.life_s)
        recorder, _ = await self.follow(kept.revision)
        while not recorder.changes:
            await recorder.reached(kept.revision + 1)
        self.assertEqual([(change.key, change.value) for change in recorder.changes], [("/here", None)])
        self.assertFalse(await kept.renew())
        await kept.end()

    async def test_replaced_value(self) -> None:
        """A value that has replaced an expiring one stays when that expires."""
        kept = await self.store.keep("/here", b"one", 600)
        other = await self.store.keep("/here", b"two", 600)
        await kept.end()
        self.assertEqual((await self.store.get("/here") or self.fail()).value, b"two")
        self.assertTrue(await other.renew())
        await other.end()


class LifeRules(StoreCase):
    """Rules of a store's life: healthy while it is open; its end loses nothing."""

    async def test_check_passes_while_open(self) -> None:
        """A started store is healthy and alive, a stopped one is neither."""
        await self.store.check()
        await self.store.alive()
        await self.store.stop()
        await self.assertFailure(Deferred.fromCoroutine(self.store.check()), errors.StatusError)
        await self.assertFailure(Deferred.fromCoroutine(self.store.alive()), errors.StatusError)

    async def test_stop_answers_everything(self) -> None:
        """Writes accepted before `stop` are committed and answered; later ones fail with ServiceUnavailable."""
        writes = [self.store.commit(Op(f"/{n}", b"v")) for n in range(1000)]
        await self.store.stop()
        await self.store.stop()
        outcomes = [self.successResultOf(write) for write in writes]
        self.assertEqual(len({outcome.revision for outcome in outcomes} - {0}), 1000)
        self.failureResultOf(self.store.commit(Op("/late", b"v")), errors.ServiceUnavailable)
        await self.assertFailure(Deferred.fromCoroutine(self.store.get("/0")), errors.ServiceUnavailable)
