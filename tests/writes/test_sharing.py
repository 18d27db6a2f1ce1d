"""Updates whose wanted and live object share parts: they end as updates of objects that share nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.merge_patch import merge_patch
from orchtw.errors import StatusError
from orchtw.registry import recent_drafts, sharing
from orchtw.registry.custom.strategy import CustomStrategy
from orchtw.registry.custom.versioning import SameFields
from orchtw.registry.metadata import ordered
from orchtw.registry.recent_drafts import RecentDrafts
from orchtw.registry.target import Target
from orchtw.registry.write import Transform, Write
from orchtw.request import Peer, Request, UserInfo
from orchtw.schema import known_parts
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.strict_fields import IGNORE
from orchtw.schema.custom.codec import CustomCodec
from orchtw.schema.custom.structural import CustomSchema
from orchtw.schema.schemas import OBJECT_META
from orchtw.verbs.patch import Changes
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes import drafts as drafts_module
from orchtw.writes.drafts import Drafts, prepared_update
from tests.client.world import World
from tests.properties import examples
from tests.registry.widgets import GROUP, widget
from tests.schema.arbitrary import Arbitrary
from tests.schema.codec.shared_sets import check_shared_sets
from tests.schema.custom.arbitrary import fitting, objects

NOW = "2026-01-01T00:00:00Z"
OWNED = {"manager": "me", "operation": "Update", "time": NOW, "fieldsType": "FieldsV1",
         "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}}  # fmt: skip
NODE_PORTS = {"type": "NodePort", "ports": [{"port": 1, "protocol": "TCP", "targetPort": 1, "nodePort": 30001}]}


class SharedPartsTests(SynchronousTestCase):
    """Drafts of one world, of live objects that need not be in a store."""

    def setUp(self) -> None:
        self.world = World()
        self.addCleanup(self.world.stop)
        self.addCleanup(check_shared_sets, self)
        self.patch(recent_drafts, "SHORTEST", 0)
        writes = self.world.registry.writes
        self.writes = writes
        self.drafts = Drafts(msgspec.structs.replace(writes._stamp, now=lambda: 1.8e9), Random(0), writes._ownership)

    def target(self, group: str, version: str, plural: str) -> Target:
        found = self.world.targets.find(group, version, plural)
        assert found is not None
        return found

    def live(self, target: Target, content: Object, *, completed: bool = True) -> Entry:
        """An object as it is stored; one that is not `completed` lacks the defaults of its kind's own rules."""
        obj = target.codec.normalise(content)
        meta = {**obj.get("metadata", {}), "name": "x", "uid": "u", "creationTimestamp": NOW}
        if target.resource.namespaced:
            meta["namespace"] = "a"
        obj["metadata"] = meta
        if completed:
            target.codec.set_defaults(obj)
            target.complete(obj)
        obj = target.store_form(target.codec.normalise(obj))
        obj["metadata"] = ordered(obj["metadata"])
        return target.prepare(obj).entry(7)

    def outcome(self, write: Write, transform: Transform, live: Entry) -> Any:
        """The result of an update, bytes or a refusal. The live object stays as it is."""
        target = write.target
        try:
            change = self.drafts.change(write, transform, live)
            new, check = self.drafts.begin_update(write, change, None)
            check()
            prepared = prepared_update(target, new, change.old, live)
        except StatusError as error:
            return error.message
        stored = target.stored
        self.assertEqual(orjson.dumps(change.old), stored.codec.type_prefix + stored.json_tail(live))
        if prepared is None:
            return None
        entry = prepared.entry(8)
        if target.for_writer(new) is None:
            self.check_left(target, entry, new)
        return prepared.value, entry.json, write.request.warnings  # type: ignore[union-attr]

    def check_left(self, target: Target, entry: Entry, new: Object) -> None:
        """Check that what an update leaves of an object is the draft of its entry."""
        recent = RecentDrafts()
        recent.keep(target, entry, new)
        self.assertEqual(orjson.dumps(recent.take(target, entry)), orjson.dumps(target.load_draft(entry)))

    def ways(self, target: Target, sub: str, live: Entry, patch: Object, *, own: bool) -> list[Callable[[], Any]]:
        """The ways in which a change of a live object may come."""
        now = "2026-02-01T00:00:00Z"
        fields = self.writes.field_manager(target, sub)

        def request(body: object, kind: str) -> Request:
            headers = {"content-type": kind}
            peer = Peer(address="test", port=0)
            return Request(method="PATCH", path="/", query="", headers=headers, body=orjson.dumps(body), peer=peer)

        def write(sent: Request, **more: Any) -> Write:
            namespace = "a" if target.resource.namespaced else ""
            user = UserInfo(name="ann")
            return Write(
                target=target, namespace=namespace, name="x", user=user, subresource=sub, manager="you",
                from_live=True, request=sent, own=own, **more,
            )  # fmt: skip

        def patched(kind: str) -> Any:
            operations = [{"op": "add", "path": f"/{key}", "value": part} for key, part in patch.items()]
            sent = request(operations if kind == "json" else patch, f"application/{kind}-patch+json")
            changes = Changes(sent, target.codec)
            return self.outcome(write(sent, shares=changes.copies), lambda obj: changes.of(obj or {}), live)

        def put() -> Any:
            body = {**merge_patch(target.load(live), patch)}
            sent = request(body, "application/json")
            replacing = write(sent, whole=True)
            beside = target.load_draft(live)
            if sharing.may_share(target, live):
                replacing.at_hand.entry, replacing.at_hand.obj = live, beside
            first = [read_body(target.codec, sent.body, "json", IGNORE, live=beside)[0]]
            read = lambda: read_body(target.codec, sent.body, "json", IGNORE)[0]  # noqa: E731
            return self.outcome(replacing, lambda obj: first.pop() if first else read(), live)

        def applied() -> Any:
            resource = target.resource
            document = {**patch, "apiVersion": resource.api_version, "kind": resource.kind}
            sent = request(document, "application/apply-patch+yaml")
            merging = write(sent, applies=True, shares=True)
            return self.outcome(merging, lambda obj: fields.on_apply(obj, document, "you", now, force=True).obj, live)

        strategic = [lambda: patched("strategic-merge")] if target.codec.protobuf else []
        return [lambda: patched("merge"), *strategic, lambda: patched("json"), put, applied]

    def compare(self, target: Target, sub: str, live: Entry, patch: Object, *, own: bool = True) -> None:
        """Compare all ways with those of objects that share nothing."""
        for way in self.ways(target, sub, live, patch, own=own):
            try:
                shared = way()
            except StatusError as error:
                shared = error.message
            with _apart(self):
                try:
                    alone = way()
                except StatusError as error:
                    alone = error.message
            self.assertEqual(shared, alone)

    def test_every_kind(self) -> None:
        """Random changes of objects of every kind, stored with all their defaults and without some of them."""
        targets = [
            target
            for target in self.world.targets.served()
            if target.codec.protobuf and {"update", "patch"} <= set(target.resource.verbs)
        ]
        self.assertGreater(len(targets), 50)

        @examples(8)
        @given(some.integers(0, 2**32))
        def check(seed: int) -> None:
            for target in targets:
                random = Random(f"{seed} {target.resource.api_version} {target.resource.plural}")
                arbitrary = Arbitrary(random)
                content = arbitrary.struct(target.codec.schema)
                content["metadata"] = {"labels": {"a": "b"}, "managedFields": [
                    {**OWNED, "apiVersion": target.resource.api_version}] * random.randint(0, 1)}  # fmt: skip
                other = arbitrary.struct(target.codec.schema)
                patch = {key: part for key, part in other.items() if random.random() < 0.5}
                patch["metadata"] = random.choice(({}, {"labels": {"c": "d"}}, {"annotations": {"e": "f"}}))
                subresource = random.choice(("", "", "status")) if target.strategy.has_status else ""
                live = self.live(target, content, completed=random.random() < 0.7)
                self.compare(target, subresource, live, patch)

        check()

    def test_custom_kinds(self) -> None:
        """Random changes of custom objects, under random schemas with defaults and rules; small members are known."""
        self.patch(known_parts, "SHORTEST", 1)

        @examples(60)
        @given(some.data())
        def check(data: some.DataObject) -> None:
            spec, status = ({"type": "object", **data.draw(objects(1))} for _ in range(2))
            widgets = self.serve({"spec": spec, "status": status})
            drawn = {"spec": data.draw(fitting(spec)), "status": data.draw(fitting(status))}
            own = {**OWNED, "apiVersion": f"{GROUP}/v1"}
            meta = {"labels": {"a": "b"}, "managedFields": [own] * data.draw(some.integers(0, 1))}
            try:
                live = self.live(widgets, {**drawn, "metadata": meta}, completed=data.draw(some.booleans()))
            except StatusError:
                return
            patch = {"spec": data.draw(fitting(spec)), "status": data.draw(fitting(status))}
            sent = {key: part for key, part in patch.items() if data.draw(some.booleans())}
            sent["metadata"] = data.draw(some.sampled_from([{}, {"labels": {"c": "d"}}, {"annotations": {"e": "f"}}]))
            for subresource in ("", "status"):
                self.compare(widgets, subresource, live, sent, own=data.draw(some.booleans()))

        check()

    def serve(self, properties: Object) -> Target:
        """Serve widgets with these members, whose functions are compiled at once."""
        schemas = self.world.codecs.schemas
        source = orjson.dumps({"type": "object", "properties": properties})
        schema = CustomSchema(widget().message, source, schemas.struct(OBJECT_META), schemas.naming)

        def codec(resource: Any, schema: Any) -> CustomCodec:
            made = CustomCodec(resource, schema, self.world.codecs)
            made.direct_looks = 0
            return made

        self.world.run(self.world.targets.add([(widget(), schema)], CustomStrategy, codec, SameFields))
        return self.target(GROUP, "v1", "widgets")

    def test_ports_of_the_host(self) -> None:
        """A change of one field that completes another one stores both."""
        pods = self.target("", "v1", "pods")
        container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "terminationMessagePolicy": "File"}
        live = self.live(pods, {"spec": {"containers": [container]}})
        self.compare(pods, "", live, {"spec": {"hostNetwork": True}})

    def test_absent_defaults(self) -> None:
        """An object that is stored without a default gets it with the next change, of whatever part."""
        pods = self.target("", "v1", "pods")
        live = self.live(pods, {"spec": {"containers": [{"name": "c", "image": "i"}]}}, completed=False)
        self.compare(pods, "", live, {"metadata": {"labels": {"a": "b"}}})
        changes = self.ways(pods, "", live, {"metadata": {"labels": {"a": "b"}}}, own=True)[0]
        self.assertIn(b'"restartPolicy":"Always"', changes()[1])

    def test_claims(self) -> None:
        """A claim's data source and its reference are levelled in the claim that is stored alone."""
        claims = self.target("", "v1", "persistentvolumeclaims")
        source = {"kind": "PersistentVolumeClaim", "name": "s"}
        live = self.live(claims, {"spec": {"dataSource": source}})
        self.compare(claims, "", live, {"metadata": {"labels": {"a": "b"}}})

    def test_not_shared(self) -> None:
        """Objects of a kind that reserves something share nothing: reservations are made of the differences."""
        services = self.target("", "v1", "services")
        live = self.live(services, {"spec": NODE_PORTS})
        self.patch(services.strategy, "reservations", None)
        self.assertTrue(sharing.may_share(services, live))
        self.patch(services.strategy, "reservations", object())
        self.assertFalse(sharing.may_share(services, live))


# Typed so that the name it imports can be replaced.
DRAFTS: Any = drafts_module


class _apart:
    """While it is entered, no objects share parts."""

    def __init__(self, case: SynchronousTestCase) -> None:
        self._case = case

    def __enter__(self) -> None:
        self._before = sharing.may_share
        never = lambda target, live: False  # noqa: E731
        sharing.may_share = DRAFTS.may_share = never

    def __exit__(self, *error: object) -> None:
        sharing.may_share = DRAFTS.may_share = self._before
