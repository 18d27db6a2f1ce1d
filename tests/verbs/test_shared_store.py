"""Reads on a store that other processes write too: the most recent state is waited for, any state is not."""
# covers: orchtw.verbs.list_state

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import NotFound, Timeout
from orchtw.metrics.registry import Registry
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.request import Peer, Request, RequestInfo, UserInfo
from orchtw.responses.list_metrics import ListMetrics
from orchtw.rules.continue_token import Tokens
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.list_options import list_options
from orchtw.rules.negotiation import Negotiated
from orchtw.rules.resource_version_match import WatchList
from orchtw.rules.selectors import ALL_FIELDS, ALL_LABELS
from orchtw.storage.cache.freshness import WAIT_S
from orchtw.storage.store import Op
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import WatchTimes
from orchtw.verbs.get import get
from orchtw.verbs.list_state import State, state_of
from orchtw.verbs.watch import watch
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection
from orchtw.wire.objects import Object
from tests.client.shared_store import SharedStore
from tests.client.world import World

USER = UserInfo(name="ann")


class Case(SynchronousTestCase):
    """A ConfigMap `a`, and an equal one `b` that another process has created and the cache is yet to be told of."""

    def setUp(self) -> None:
        self.world = World(make_store=SharedStore)
        self.addCleanup(self.world.stop)
        self.store: SharedStore = self.world.store  # type: ignore[assignment]
        self.world.namespace("a")
        self.world.config_map("a")
        self.target: Target = self.world.targets.stored_target("", "v1", "configmaps")
        stored = self.target.stored
        self.key = f"{stored.prefix}a/"
        obj = self.target.codec.normalise({"metadata": {"name": "b", "namespace": "a", "uid": "of-b"}})
        self.value = stored.prepare(obj).value
        self.revision = self.store.write_elsewhere(Op(f"{self.key}b", self.value, 0))
        self.assertEqual(self.world.cacher.revision, self.revision - 1)

    def begin(self, work: Awaitable[Any]) -> Deferred[Any]:
        """Work that has begun."""
        return ensureDeferred(work)  # type: ignore[arg-type]

    def waits(self, work: Awaitable[Any]) -> Any:
        """The result of work that must wait for the cache to be told."""
        begun = self.begin(work)
        self.world.settle()
        self.assertNoResult(begun)
        self.store.tell()
        self.world.settle()
        return self.successResultOf(begun)

    def write(self, name: str, *, dry_run: bool = False) -> Write:
        return Write(target=self.target, namespace="a", name=name, user=USER, from_live=True, dry_run=dry_run)


class ReaderTests(Case):
    """GET, lists and watches (reference READ-10)."""

    def call(self, query: str = "", name: str = "") -> VerbCall:
        request = Request(method="GET", path="/", query=query, peer=Peer(address="", port=0))
        parts = ("configmaps", name) if name else ("configmaps",)
        info = RequestInfo(
            is_resource=True, verb="get", path="/", version="v1", namespace="a", resource="configmaps", name=name,
            parts=parts,
        )
        accept = Negotiated(format="json", content_type="application/json")
        return VerbCall(request=request, info=info, user=USER, target=self.target, accept=accept)

    @property
    def context(self) -> Any:
        async def entry(target: Target, entry: Entry, *args: Any, **params: Any) -> str:
            return entry.name

        async def encode_large(target: Target, entries: Sequence[Entry], accept: Negotiated) -> None:
            """Do nothing: the first reader of a kind asks for this, before others in the process have."""

        return SimpleNamespace(
            cacher=self.world.cacher,
            store=self.store,
            tokens=Tokens(b"s" * 32, self.world.naming),
            representations=SimpleNamespace(
                entry=entry, encode_large=encode_large, wire=lambda *args, **params: None
            ),
            lists=ListMetrics(Registry(), self.world.naming),
            chunked_lists=True,
            watch_list=WatchList.UNKNOWN,
            sharded=False,
            naming=self.world.naming,
        )

    async def names(self, query: str) -> list[str]:
        """The names in a list."""
        call = self.call(query)
        options = list_options(call.request.params, (), self.world.naming)
        state: State = await state_of(self.context, call, options, Selection("a", ALL_LABELS, ALL_FIELDS, ()))
        return [entry.name for entry in state.entries]

    def test_list(self) -> None:
        """A list without a version waits, one at version 0 does not."""
        self.assertEqual(self.successResultOf(self.begin(self.names("resourceVersion=0"))), ["a"])
        self.assertEqual(self.waits(self.names("")), ["a", "b"])

    def test_pages(self) -> None:
        """The first page of a list waits as the whole list does."""
        self.assertEqual(self.waits(self.names("limit=5")), ["a", "b"])

    def test_exact(self) -> None:
        """An exact list at a version that another process told of waits for it."""
        self.assertEqual(self.waits(self.names(f"resourceVersion={self.revision}&limit=5")), ["a", "b"])

    def test_list_in_vain(self) -> None:
        """A cache that is not told in time is a 504 with the usual text; any state is served on."""
        begun = self.begin(self.names(""))
        self.world.clock.advance(WAIT_S + 0.1)
        error = self.failureResultOf(begun, Timeout).value
        current = self.revision - 1
        self.assertEqual(error.message, f"Timeout: Too large resource version: {self.revision}, current: {current}")
        self.assertEqual(self.successResultOf(self.begin(self.names("resourceVersion=0"))), ["a"])

    def test_get(self) -> None:
        """A get without a version finds what another process has created; one at version 0 may not."""
        self.failureResultOf(self.begin(get(self.context, self.call("resourceVersion=0", "b"))), NotFound)
        self.assertEqual(self.waits(get(self.context, self.call("", "b"))), "b")

    def test_watch(self) -> None:
        """A watch without a version begins with the most recent state; others begin at once."""
        times = WatchTimes(clock=self.world.clock, random=self.world.random, min_s=1800)
        for query in ("resourceVersion=0", "resourceVersion=1"):
            self.successResultOf(self.begin(watch(self.context, times, self.call(query))))
        self.waits(watch(self.context, times, self.call()))


class WriterTests(Case):
    """Writes apply to the most recent object."""

    def test_update(self) -> None:
        """The live object of an update or patch is what another process made of it."""

        def change(live: Object | None) -> Object:
            assert live is not None
            return {**live, "data": {"k": live["metadata"]["uid"]}}

        written = self.waits(self.world.registry.writes.update(self.write("b"), change))
        self.assertEqual(self.target.load(written.entry)["data"], {"k": "of-b"})

    def test_lost_race(self) -> None:
        """After a lost race the next round waits for the winner's object, and is the last."""
        rounds: list[str] = []
        self.store.tell()

        def change(live: Object | None) -> Object:
            assert live is not None
            rounds.append(live["metadata"].pop("resourceVersion"))
            if len(rounds) == 1:
                self.store.write_elsewhere(Op(f"{self.key}b", self.value))
                self.world.clock.callLater(1, self.store.tell)
            return {**live, "data": {"k": "v"}}

        begun = self.begin(self.world.registry.writes.update(self.write("b"), change))
        self.world.settle(2)
        self.successResultOf(begun)
        self.assertEqual(rounds, [str(self.revision), str(self.revision + 1)])

    def test_dry_run(self) -> None:
        """A name that another process has taken is taken for a dry run too."""
        begun = self.begin(self.world.registry.writes.create(self.write("b", dry_run=True), self.obj("b")))
        self.world.settle()
        self.assertNoResult(begun)
        self.store.tell()
        self.assertIn("already exists", self.failureResultOf(begun).value.message)

    def obj(self, name: str) -> Object:
        return self.target.codec.normalise({"metadata": {"name": name}})

    def test_delete(self) -> None:
        """An object that another process has created can be deleted here."""
        deleted = self.waits(self.world.registry.deletion.delete(self.write("b"), DeleteOptions()))
        self.assertTrue(deleted.gone)


class ClientTests(Case):
    """Controllers read what every process has written."""

    def test_reads(self) -> None:
        """`get`, `find` and `list` wait."""
        client, maps = self.world.client, self.world.resource("configmaps")
        self.assertEqual(self.waits(client.get(maps, "a", "b"))["metadata"]["name"], "b")
        self.store.write_elsewhere(Op(f"{self.key}b", None))
        self.assertIsNone(self.waits(client.find(maps, "a", "b")))
        self.store.write_elsewhere(Op(f"{self.key}b", self.value))
        self.assertEqual([item.name for item in self.waits(client.list(maps, "a")).items], ["a", "b"])

    def test_delete_collection(self) -> None:
        """Nothing is left over that was there before."""
        maps = self.world.resource("configmaps")
        self.assertEqual(self.waits(self.world.client.delete_collection(maps, "a")), 2)
