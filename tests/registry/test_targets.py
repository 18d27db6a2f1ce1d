"""The registry of resources: what is there from the start, and what comes and goes."""

from __future__ import annotations

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.strategy import Strategy
from orchtw.registry.targets import Targets
from orchtw.rules.runtime_config import enabled
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.storage.cache.watch_cache import Cacher
from tests.client.world import MemoryStore
from tests.registry.widgets import GROUP, PREFIX, gadget, schema_of, versions, widget

CATALOGUE = Catalogue.load(Naming.orch())


class GatedStore(MemoryStore):
    """Lists of one prefix come when `gate` fires, or fail with it."""

    gate: Deferred[None] | None = None
    gated = PREFIX

    async def list(self, prefix, *, revision=0, limit=0, start=""):  # type: ignore[no-untyped-def]
        page = await super().list(prefix, revision=revision, limit=limit, start=start)
        if self.gate is not None and prefix == self.gated:
            await self.gate
        return page


class TargetsCase(SynchronousTestCase):
    """A registry over an empty store; `told` counts what its listener hears."""

    catalogue = CATALOGUE

    def setUp(self) -> None:
        clock = Clock()
        self.store = GatedStore(clock)
        self.codecs = Codecs(self.catalogue)
        self.targets = Targets(self.catalogue, self.codecs, enabled(self.catalogue, ()))
        self.cacher = Cacher(self.store, clock, lambda flush: clock.callLater(0, flush))
        self.successResultOf(ensureDeferred(self.targets.open(self.cacher)))
        self.addCleanup(lambda: self.successResultOf(ensureDeferred(self.cacher.stop())))
        self.told = 0
        self.leave = self.targets.listen(self.tell)

    def tell(self) -> None:
        self.told += 1

    def add(self, *names: str) -> None:
        self.successResultOf(ensureDeferred(self.targets.add(versions(self.codecs.schemas, *names))))


class ReleaseTests(TargetsCase):
    def test_served_and_stored(self) -> None:
        """Unserved resources cannot be named by requests, but by the server itself."""
        self.assertIsNone(self.targets.find("storage.orch.io", "v1alpha1", "csistoragecapacities"))
        few = Targets(CATALOGUE, self.codecs, [each for each in CATALOGUE.resources if each.plural == "pods"])
        self.assertIsNone(few.find("", "v1", "secrets"))
        self.assertEqual(few.stored_target("", "v1", "secrets").resource.kind, "Secret")
        self.assertRaises(KeyError, few.stored_target, "", "v1", "nothing")
        self.assertIs(few.stored_as("", "secrets"), few.stored_target("", "v1", "secrets").stored)
        self.assertRaises(KeyError, few.stored_as, "", "nothing")
        self.assertEqual([each.resource.plural for each in few.served()], ["pods"])
        self.assertEqual((set(few.versions), [each.plural for each in few.resources]), ({("", "v1")}, ["pods"]))

    def test_never_stored(self) -> None:
        """Kinds that are never stored are among the resources, and have no target."""
        reviews = [each for each in self.targets.resources if each.plural == "tokenreviews"]
        self.assertEqual(len(reviews), 1)
        self.assertIsNone(self.targets.find(reviews[0].group, reviews[0].version, "tokenreviews"))

    def test_versions_share(self) -> None:
        """Versions of one kind have one stored resource, also in different groups."""
        core = self.targets.stored_target("", "v1", "events")
        other = self.targets.stored_target("events.orch.io", "v1", "events")
        self.assertIs(core.stored, other.stored)
        self.assertLessEqual({"v1", "events.orch.io/v1"}, set(self.targets.versions_of(core)))


class AddTests(TargetsCase):
    def test_added(self) -> None:
        """An added resource is found in each of its versions, over one cache, and listeners are called once."""
        self.add("v1", "v1beta1")
        first, other = (self.targets.find(GROUP, version, "widgets") for version in ("v1", "v1beta1"))
        assert first is not None and other is not None
        self.assertIs(first.stored, other.stored)
        self.assertIs(first.stored.cache, self.cacher.of(first.stored))
        self.assertEqual((first.stored.prefix, first.from_storage), (PREFIX, None))
        self.assertEqual(set(self.targets.versions_of(other)), {f"{GROUP}/v1", f"{GROUP}/v1beta1"})
        self.assertLessEqual({(GROUP, "v1"), (GROUP, "v1beta1")}, self.targets.versions.keys())
        self.assertEqual([each.version for each in self.targets.resources[-2:]], ["v1", "v1beta1"])
        self.assertEqual(self.told, 1)

    def test_group(self) -> None:
        """Its group comes behind those of the release, with stable versions first (reference DISC-2, DISC-3)."""
        before = self.targets.groups
        self.add("v1alpha1", "v1", "v10", "v2", "v1beta2", "odd")
        *known, last = self.targets.groups
        self.assertEqual(tuple(known), before)
        self.assertEqual((last.name, last.preferred), (GROUP, "v10"))
        self.assertEqual(last.versions, ("v10", "v2", "v1", "v1beta2", "v1alpha1", "odd"))

    def test_not_before_it_is_loaded(self) -> None:
        """Requests cannot name it before everything that the store has of it is in the cache."""
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.targets.add(versions(self.codecs.schemas)))
        self.assertIsNone(self.targets.find(GROUP, "v1", "widgets"))
        self.assertEqual((self.told, len(self.targets.groups)), (0, len(CATALOGUE.groups)))
        gate.callback(None)
        self.successResultOf(adding)
        self.assertIsNotNone(self.targets.find(GROUP, "v1", "widgets"))

    def test_failure(self) -> None:
        """When the store fails, nothing has been added, and it can be tried again."""
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.targets.add(versions(self.codecs.schemas)))
        gate.errback(Failure(OSError("the disk is gone")))
        self.failureResultOf(adding, OSError)
        self.assertRaises(KeyError, self.codecs.kind, f"{GROUP}/v1", "Widget")
        self.assertRaises(KeyError, self.targets.remove, GROUP, "widgets")
        self.assertEqual((self.told, PREFIX in self.cacher._caches), (0, False))
        self.store.gate = None
        self.add()

    def test_taken(self) -> None:
        """A path of the release or one that is being added is refused; so are versions that do not fit together."""
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.targets.add(versions(self.codecs.schemas)))
        again = versions(self.codecs.schemas)
        self.failureResultOf(ensureDeferred(self.targets.add(again)), ValueError)
        twin = widget(plural="twins")
        pairs = [(twin, schema_of(twin, self.codecs.schemas))]
        self.failureResultOf(ensureDeferred(self.targets.add(pairs)), ValueError)
        self.assertRaises(KeyError, self.targets.remove, GROUP, "widgets")
        gate.callback(None)
        self.successResultOf(adding)
        pods = widget(group="", storage_group="", plural="pods")
        for odd in ([widget("v2")], [widget(), gadget(widget())], [pods]):
            pairs = [(each, schema_of(each, self.codecs.schemas)) for each in odd]
            self.failureResultOf(ensureDeferred(self.targets.add(pairs)), ValueError)
        self.assertIsNotNone(self.codecs.kind(f"{GROUP}/v1", "Widget"))
        self.assertEqual(self.told, 1)

    def test_again(self) -> None:
        """Added again, it is served as it was until it can be served as it is, and not named otherwise in between."""
        self.add("v1", "v1beta1")
        first = self.targets.find(GROUP, "v1", "widgets")
        assert first is not None
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.targets.add(versions(self.codecs.schemas, "v1", "v2")))
        self.assertIs(self.targets.find(GROUP, "v1", "widgets"), first)
        self.assertIs(self.codecs.kind(f"{GROUP}/v1", "Widget"), first.codec)
        self.assertFalse(first.stored.cache.dispatcher.closed)
        self.assertRaises(KeyError, self.targets.remove, GROUP, "widgets")
        gate.callback(None)
        self.successResultOf(adding)
        second = self.targets.find(GROUP, "v1", "widgets")
        assert second is not None
        self.assertIsNot(second.stored, first.stored)
        self.assertIs(self.codecs.kind(f"{GROUP}/v1", "Widget"), second.codec)
        self.assertIs(self.cacher.of(second.stored), second.stored.cache)
        self.assertTrue(first.stored.cache.dispatcher.closed)
        self.assertIsNone(self.targets.find(GROUP, "v1beta1", "widgets"))
        self.assertEqual([each.version for each in self.targets.resources if each.group == GROUP], ["v1", "v2"])
        self.assertEqual(self.told, 2)

    def test_again_and_failed(self) -> None:
        """When the store fails, what was there goes on as if nothing had been asked."""
        self.add()
        first = self.targets.find(GROUP, "v1", "widgets")
        assert first is not None
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.targets.add(versions(self.codecs.schemas, "v1", "v2")))
        gate.errback(Failure(OSError("the disk is gone")))
        self.failureResultOf(adding, OSError)
        self.assertIs(self.targets.find(GROUP, "v1", "widgets"), first)
        self.assertIs(self.cacher.of(first.stored), first.stored.cache)
        self.assertEqual((first.stored.cache.dispatcher.closed, self.told), (False, 1))
        self.targets.remove(GROUP, "widgets")

    def test_taken_kind(self) -> None:
        """A kind that another resource has is refused, and stays with that one."""
        self.add()
        twin = widget(plural="twins")
        pairs = [(twin, schema_of(twin, self.codecs.schemas))]
        self.failureResultOf(ensureDeferred(self.targets.add(pairs)), ValueError)
        self.assertEqual(self.codecs.kind(f"{GROUP}/v1", "Widget").kind, "Widget")
        self.assertIsNone(self.targets.find(GROUP, "v1", "twins"))

    def test_unserved_version(self) -> None:
        """A version that is off is known to the server itself and to nobody else, even the one that is stored."""
        resources = [widget(default_on=False), widget("v2")]
        pairs = [(each, schema_of(each, self.codecs.schemas)) for each in resources]
        self.successResultOf(ensureDeferred(self.targets.add(pairs)))
        self.assertIsNone(self.targets.find(GROUP, "v1", "widgets"))
        served = self.targets.find(GROUP, "v2", "widgets")
        assert served is not None and served.to_storage is not None
        self.assertEqual(served.to_storage({"apiVersion": f"{GROUP}/v2"}), {"apiVersion": f"{GROUP}/v1"})
        self.assertEqual([each.version for each in self.targets.resources if each.group == GROUP], ["v2"])
        self.assertEqual(self.targets.stored_target(GROUP, "v1", "widgets").stored, served.stored)

    def test_strategy(self) -> None:
        """Its source may bring the strategy of its kind along."""

        class Own(Strategy):
            """Strategy of the test's own."""

        self.successResultOf(ensureDeferred(self.targets.add(versions(self.codecs.schemas), Own)))
        found = self.targets.find(GROUP, "v1", "widgets")
        assert found is not None
        self.assertIsInstance(found.stored.strategy, Own)


class PlaceTests(TargetsCase):
    """Resources under Kubernetes' names, whose keys are neutral."""

    catalogue = Catalogue.load(Naming.kubernetes())

    def added(self, group: str, **more: str) -> Deferred[None]:
        """Add widgets of a group."""
        resource = widget(group=group, storage_group=group, message=f"{group}.Widget", **more)
        return ensureDeferred(self.targets.add([(resource, schema_of(resource, self.codecs.schemas))]))

    def test_same_keys(self) -> None:
        """A resource whose keys another one has is refused, and that one goes on with its cache (reference VOC-6)."""
        roles = self.targets.stored_target("rbac.authorization.k8s.io", "v1", "clusterroles").stored
        cache = roles.cache
        refused = self.added("rbac.authorization.orch.io", plural="clusterroles")
        failure = self.failureResultOf(refused, ValueError)
        self.assertIn("clusterroles.rbac.authorization.k8s.io are kept in the same place", str(failure.value))
        self.assertIs(self.cacher.of(roles), cache)
        self.successResultOf(self.added("snapshot.storage.k8s.io"))
        self.failureResultOf(self.added("snapshot.storage.orch.io", kind="Other"), ValueError)
        self.successResultOf(self.added("snapshot.storage.k8s.io"))

    def test_at_the_same_time(self) -> None:
        """So is one whose keys another one will have that is being added."""
        gate = self.store.gate = Deferred()
        self.store.gated = "/registry/snapshot.storage.orch.io/widgets/"
        adding = self.added("snapshot.storage.k8s.io")
        self.assertNoResult(adding)
        self.failureResultOf(self.added("snapshot.storage.orch.io", kind="Other"), ValueError)
        gate.callback(None)
        self.successResultOf(adding)


class RemoveTests(TargetsCase):
    def test_removed(self) -> None:
        """A removed resource is found nowhere, and listeners are called."""
        self.add("v1", "v1beta1")
        held = self.targets.find(GROUP, "v1", "widgets")
        before = len(self.targets.resources)
        self.targets.remove(GROUP, "widgets")
        self.assertIsNone(self.targets.find(GROUP, "v1", "widgets"))
        self.assertRaises(KeyError, self.targets.stored_target, GROUP, "v1", "widgets")
        self.assertNotIn((GROUP, "v1"), self.targets.versions)
        self.assertEqual((len(self.targets.resources), self.targets.groups), (before - 2, CATALOGUE.groups))
        self.assertRaises(KeyError, self.codecs.kind, f"{GROUP}/v1", "Widget")
        self.assertEqual((self.told, PREFIX in self.cacher._caches), (2, False))
        assert held is not None
        self.assertEqual(len(held.stored.cache), 0)

    def test_comes_back(self) -> None:
        """It can come back, as another one."""
        self.add()
        first = self.targets.find(GROUP, "v1", "widgets")
        self.targets.remove(GROUP, "widgets")
        self.add("v1", "v2")
        self.assertIsNot(self.targets.find(GROUP, "v1", "widgets"), first)

    def test_of_the_release(self) -> None:
        """Built-in resources stay, and so does the other resource of a group."""
        self.assertRaises(KeyError, self.targets.remove, "", "pods")
        self.add()
        other = gadget(widget())
        pairs = [(other, schema_of(other, self.codecs.schemas))]
        self.successResultOf(ensureDeferred(self.targets.add(pairs)))
        self.targets.remove(GROUP, "widgets")
        self.assertIsNotNone(self.targets.find(GROUP, "v1", "gadgets"))
        self.assertIn((GROUP, "v1"), self.targets.versions)
        self.assertIsNotNone(self.codecs.schemas.message_of(f"{GROUP}/v1", "DeleteOptions"))

    def test_leave(self) -> None:
        """A removed listener is not called."""
        self.leave()
        self.add()
        self.assertEqual(self.told, 0)
