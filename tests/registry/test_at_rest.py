"""The two forms of objects at rest, and `Stored` over either of them."""

from __future__ import annotations

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.at_rest import JsonAtRest, ProtobufAtRest, at_rest
from orchtw.registry.stored import Stored
from orchtw.registry.strategies import strategy_for
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from tests.registry.widgets import GROUP, PREFIX, schema_of, widget

CATALOGUE = Catalogue.load(Naming.orch())
CODECS = Codecs(CATALOGUE)
WIDGETS = CODECS.made(widget(), schema_of(widget(), CODECS.schemas))
CONFIG_MAPS = CODECS.kind("v1", "ConfigMap")
HEAD = b'{"kind":"Widget","apiVersion":"%b/v1",' % GROUP.encode()


def obj(**spec: object) -> Object:
    """A widget on its way to the store: canonical, with an empty version."""
    meta = {"name": "w", "namespace": "a", "uid": "u", "resourceVersion": "", "labels": {"x": "y"}}
    return WIDGETS.normalise({"metadata": meta, "spec": spec})


def halves(codec: KindCodec, obj: Object) -> tuple[bytes, bytes]:
    """The JSON of an object, of which none is behind its version."""
    return orjson.dumps(obj)[len(codec.type_prefix) :], b""


class FormTests(SynchronousTestCase):
    def test_which(self) -> None:
        """Kinds with a message lie in the store as Protobuf, others as JSON."""
        self.assertIsInstance(at_rest(CONFIG_MAPS), ProtobufAtRest)
        self.assertIsInstance(at_rest(WIDGETS), JsonAtRest)

    def test_there_and_back(self) -> None:
        """In both forms an object comes out of the store as it went in."""
        config_map = CONFIG_MAPS.normalise({"metadata": {"name": "c"}, "data": {"a": "1"}})
        for codec, given in ((CONFIG_MAPS, config_map), (WIDGETS, obj(size=0, box={"any": [None]}))):
            form = at_rest(codec)
            raw = form.raw(form.value(form.encode(given, halves(codec, given))))
            self.assertEqual(form.decode(raw), given)
            self.assertEqual(form.metadata(raw), given["metadata"])
            self.assertEqual(codec.type_prefix + form.tail(raw), orjson.dumps(given))

    def test_document(self) -> None:
        """As JSON the store holds the whole document, which says by itself what it is."""
        form = at_rest(WIDGETS)
        given = obj(size=1)
        self.assertEqual(orjson.loads(form.value(form.encode(given, halves(WIDGETS, given)))), given)

    def test_older_version(self) -> None:
        """A document that was stored in another version is read as one of the present one, key by key."""
        form = at_rest(WIDGETS)
        old = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
        found = form.decode(form.raw(orjson.dumps(old)))
        self.assertEqual(found, {**old, "apiVersion": f"{GROUP}/v1"})

    def test_unreadable(self) -> None:
        """Malformed JSON cannot be read."""
        self.assertRaises(ValueError, at_rest(WIDGETS).raw, b"k8s\0")


class StoredAsJsonTests(SynchronousTestCase):
    def setUp(self) -> None:
        resource = widget(field_selectors=("metadata.name", "metadata.namespace", "spec.colour"))
        strategy = strategy_for(resource, CATALOGUE.naming, WIDGETS)
        self.stored = Stored(resource, WIDGETS, strategy, PREFIX, resource.field_selectors)

    def check(self, entry: Entry, size: int) -> None:
        """Everything that an entry says of a widget of that size."""
        self.assertEqual((entry.key, entry.namespace, entry.name, entry.revision), ("a/w", "a", "w", 7))
        self.assertEqual((entry.labels, entry.fields), ({"x": "y"}, ("red",)))
        loaded = self.stored.load(entry)
        self.assertEqual((loaded["metadata"]["resourceVersion"], loaded["spec"]["size"]), ("7", size))
        self.assertEqual(self.stored.metadata(entry), loaded["metadata"])
        self.assertEqual(orjson.loads(HEAD + self.stored.json_tail(entry)), loaded)

    def test_write(self) -> None:
        """A written object keeps one text: its form at rest is its JSON."""
        prepared = self.stored.prepare(obj(size=2, colour="red"))
        self.assertEqual(prepared.key, "a/w")
        self.assertTrue(prepared.value.startswith(HEAD))
        self.assertNotIn(b'"7"', prepared.value)
        entry = prepared.entry(7)
        self.check(entry, 2)
        self.assertIs(entry.raw, entry.json)
        assert entry.json is not None
        self.assertEqual(entry.size(), len(entry.json) + 200)

    def test_load(self) -> None:
        """A stored value becomes the same entry, and keeps one text once it has been read."""
        value = self.stored.prepare(obj(size=2, colour="red")).value
        entry = self.stored.build("a/w", value, 7)
        self.check(entry, 2)
        self.assertIs(entry.raw, entry.json)

    def test_in_appearance(self) -> None:
        """An object that was created in a dry run shows no version."""
        entry = self.stored.prepare(obj(size=2)).dry_run_entry()
        self.assertNotIn("resourceVersion", self.stored.load(entry)["metadata"])

    def test_nameplate(self) -> None:
        """Of an object that cannot be read the names and the version can be shown."""
        found = self.stored.load(self.stored.placeholder("a", "w", 7))
        shown = {"name": "w", "namespace": "a", "resourceVersion": "7", "creationTimestamp": None}
        self.assertEqual(found["metadata"], shown)

    def test_protobuf_beside(self) -> None:
        """A kind of the release still lies in the store in its envelope, and an entry has both of its forms."""
        resource = CATALOGUE.find("", "v1", "configmaps")
        assert resource is not None
        strategy = strategy_for(resource, CATALOGUE.naming, CONFIG_MAPS)
        stored = Stored(resource, CONFIG_MAPS, strategy, "/registry/configmaps/", resource.field_selectors)
        prepared = stored.prepare(CONFIG_MAPS.normalise({"metadata": {"name": "c", "namespace": "a"}}))
        self.assertEqual(unwrap(prepared.value)[:2], ("v1", "ConfigMap"))
        entry = stored.build("a/c", prepared.value, 7)
        self.assertIsNone(entry.json)
        self.assertEqual(stored.load(entry)["metadata"]["resourceVersion"], "7")
        self.assertEqual(CONFIG_MAPS.decode_protobuf(entry.raw), stored.load(entry))
