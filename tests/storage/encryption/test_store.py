"""The sealing store passes what every store passes, and keeps nothing plain (reference STORE-14)."""
# covers: orchtw.storage.encryption.deliveries, orchtw.storage.encryption.transformers

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock, deferLater
from twisted.trial.unittest import TestCase

from orchtw.errors import Expired, InternalError
from orchtw.storage.encryption.aes import AesCbc, AesGcm
from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.provider import KeyMissing, Provider, Unreadable
from orchtw.storage.encryption.store import EncryptedStore
from orchtw.storage.encryption.transformers import Transformer, Transformers
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import Change, Op, Store
from orchtw.storage.testing import PODS, Recorder, StoreConformance
from tests.storage.quick_ends import QuickEnds
from tests.storage.store_files import reactor

KEYS = {size: os.urandom(size) for size in (16, 32)}
KEY = f"{PODS}a/x"


class Distant(Identity):
    """A provider whose every seal and open needs a key that comes later; `broken` says why it never does."""

    prefix = b"k8s:enc:distant:v1:a:"  # type: ignore[misc]

    def __init__(self) -> None:
        self.fetches: list[Deferred[None]] = []
        self.at_once = True
        self.broken = ""
        self._ready = 0

    def _need(self) -> None:
        if not self._ready:
            raise KeyMissing(self._fetch)
        self._ready -= 1

    async def _fetch(self) -> None:
        if self.broken:
            raise Unreadable(self.broken)
        waiting: Deferred[None] = Deferred()
        if self.at_once:
            reactor.callLater(0, waiting.callback, None)
        else:
            self.fetches.append(waiting)
        await waiting
        self._ready += 1

    def seal(self, plain: bytes, place: bytes) -> bytes:
        self._need()
        return plain[::-1]

    def open(self, sealed: bytes, place: bytes) -> bytes:
        self._need()
        return sealed[::-1]


def over(store: Store, *providers: Provider) -> EncryptedStore:
    return EncryptedStore(store, Transformers({PODS: Transformer(providers)}))


class ConformanceCase(QuickEnds, StoreConformance):
    """Over SQLite, with `providers` for everything that the tests write."""

    def providers(self) -> Sequence[Provider]:
        raise NotImplementedError

    def make_store(self) -> Store:
        """Return an empty store."""
        inner = SqliteStore(self.mktemp(), reactor=reactor, clock=Clock(), compaction_interval_s=0)
        return over(inner, *self.providers())


class SealedStoreTests(ConformanceCase, TestCase):
    def providers(self) -> Sequence[Provider]:
        return [AesGcm("a", KEYS[16])]


class DistantTests(ConformanceCase, TestCase):
    """Keys that come later change nothing but the time it takes."""

    def providers(self) -> Sequence[Provider]:
        return [Distant()]


class SealedCase(TestCase):
    """A store that can be looked into, and opened again with other keys."""

    def setUp(self) -> Any:
        self.inner = SqliteStore(self.mktemp(), reactor=reactor, clock=Clock(), compaction_interval_s=0)
        self.addCleanup(lambda: Deferred.fromCoroutine(self.inner.stop()))
        return Deferred.fromCoroutine(self.inner.start())

    async def stored(self, key: str = KEY) -> bytes:
        found = await self.inner.get(key)
        assert found is not None
        return found.value


class SealedTests(SealedCase):
    async def test_nothing_plain(self) -> None:
        """Stored values have the prefix and not the plain text; unconfigured resources are stored plain."""
        store = over(self.inner, AesGcm("key1", KEYS[32]))
        await store.commit(Op(KEY, b"secret words"))
        await store.commit(Op("/registry/nodes/x", b"plain words"))
        value = await self.stored()
        self.assertTrue(value.startswith(b"k8s:enc:aesgcm:v1:key1:"))
        self.assertNotIn(b"secret", value)
        self.assertEqual(await self.stored("/registry/nodes/x"), b"plain words")

    async def test_rotation(self) -> None:
        """A new first key seals; what the old one sealed is read, and outdated until it is written again."""
        old, new = AesCbc("old", KEYS[16]), AesCbc("new", KEYS[32])
        await over(self.inner, old).commit(Op(KEY, b"a"))
        store = over(self.inner, new, old)
        self.assertEqual((await store.list(PODS)).items[0].value, b"a")
        self.assertTrue(store.outdated(KEY))
        await store.commit(Op(KEY, b"a"))
        self.assertFalse(store.outdated(KEY))
        self.assertTrue((await self.stored()).startswith(b"k8s:enc:aescbc:v1:new:"))

    async def test_end_of_rotation(self) -> None:
        """When the last value is sealed anew, or gone, older states are forgotten (reference STORE-37)."""
        old, new = AesCbc("old", KEYS[16]), AesCbc("new", KEYS[32])
        other = f"{PODS}a/y"
        for name in (KEY, other):
            first = await over(self.inner, old).commit(Op(name, b"a"))
        store = over(self.inner, new, old)
        await store.list(PODS)
        await store.commit(Op(KEY, b"b"))
        self.assertEqual(len((await store.list(PODS, revision=first.revision)).items), 2)
        await store.commit(Op(other, None))
        while await self.readable(first.revision):
            await deferLater(reactor, 0)

    async def readable(self, revision: int) -> bool:
        try:
            await self.inner.list(PODS, revision=revision)
        except Expired:
            return False
        return True

    async def test_to_plain(self) -> None:
        """With identity first everything is decrypted as it is written, and plain values before are read anyhow."""
        sealing = AesGcm("a", KEYS[32])
        await self.inner.commit(Op(f"{PODS}a/before", b"plain"))
        await over(self.inner, sealing).commit(Op(KEY, b"a"))
        store = over(self.inner, Identity(), sealing)
        self.assertEqual({item.value for item in (await store.list(PODS)).items}, {b"plain", b"a"})
        self.assertEqual((store.outdated(KEY), store.outdated(f"{PODS}a/before")), (True, False))
        await store.commit(Op(KEY, b"b"))
        self.assertEqual(await self.stored(), b"b")

    async def test_no_key(self) -> None:
        """Without the key a value is neither read nor lost; others are read."""
        await over(self.inner, AesGcm("a", KEYS[32])).commit(Op(KEY, b"a"))
        await self.inner.commit(Op(f"{PODS}a/z", b"plain"))
        sealed = await self.stored()
        for providers, why in (
            ([Identity()], "no matching prefix found"),
            ([AesGcm("b", KEYS[32]), Identity()], "no matching key was found for the provided AES transformer"),
            ([AesGcm("a", KEYS[16]), Identity()], "cipher: message authentication failed"),
        ):
            store = over(self.inner, *providers)
            error: Any = await self.assertFailure(Deferred.fromCoroutine(store.get(KEY)), InternalError)
            text = f'Internal error occurred: unable to transform key "{KEY}": {why}'
            self.assertEqual(error.message, text)
            page = await store.list(PODS)
            self.assertEqual([item.value for item in page.items], [b"plain"])
            self.assertEqual([(each.key, each.locked) for each in page.damaged], [(KEY, why)])
        self.assertEqual(await self.stored(), sealed)

    async def test_moved(self) -> None:
        """A value that was copied to another key by hand is not believed where the mode can tell."""
        await over(self.inner, AesGcm("a", KEYS[32])).commit(Op(KEY, b"a"))
        await self.inner.commit(Op(f"{PODS}a/y", await self.stored()))
        store = over(self.inner, AesGcm("a", KEYS[32]))
        await self.assertFailure(Deferred.fromCoroutine(store.get(f"{PODS}a/y")), InternalError)


class LaterKeyTests(SealedCase):
    """Writes and changes that wait for a key."""

    async def test_feed_in_order(self) -> None:
        """A change that waits for its key holds up those behind it, and the answers of their writers."""
        await over(self.inner, Distant()).commit(Op(KEY, b"one"))
        distant = Distant()
        store, recorder = over(self.inner, distant), Recorder()
        distant.at_once = False
        subscription = await store.subscribe(1, recorder.deliver)
        self.addCleanup(subscription.stop)
        writing = store.commit(Op("/registry/nodes/x", b"two"))
        while await self.inner.revision() < 3:
            await Deferred.fromCoroutine(self.inner.check())
        self.assertEqual(recorder.changes, [])
        self.assertNoResult(writing)
        distant.fetches.pop().callback(None)
        await writing
        self.assertEqual([change.value for change in recorder.changes], [b"one", b"two"])

    async def test_order_of_writes(self) -> None:
        """Writes of one key are made in the order of the calls, though the first waits for its key."""
        distant = Distant()
        distant.at_once = False
        store = over(self.inner, distant)
        first, second = store.commit(Op(KEY, b"one")), store.commit(Op(KEY, b"two"))
        while not distant.fetches:
            await Deferred.fromCoroutine(self.inner.check())
        distant.at_once = True
        distant.fetches.pop().callback(None)
        self.assertLess((await first).revision, (await second).revision)
        self.assertEqual(await self.stored(), distant.prefix + b"owt")

    async def test_refused(self) -> None:
        """Without a key nothing is written, and the writer hears why; the next write is free."""
        distant = Distant()
        distant.broken = "the service is away"
        store = over(self.inner, distant)
        error: Any = await self.assertFailure(store.commit(Op(KEY, b"one")), InternalError)
        self.assertIn("the service is away", error.message)
        self.assertIsNone(await self.inner.get(KEY))
        distant.broken = ""
        self.assertTrue((await store.commit(Op(KEY, b"one"))).revision)

    async def test_change_without_key(self) -> None:
        """A change whose key does not come is told as it is stored."""
        await over(self.inner, Distant()).commit(Op(KEY, b"one"))
        distant = Distant()
        distant.broken = "away"
        changes: list[Change] = []
        subscription = await over(self.inner, distant).subscribe(1, changes.extend)
        self.addCleanup(subscription.stop)
        while not changes:
            await Deferred.fromCoroutine(self.inner.check())
        self.assertEqual(changes[0].value, distant.prefix + b"eno")
