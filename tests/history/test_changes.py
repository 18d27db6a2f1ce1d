"""Field changes by path."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.merge_type import Types
from orchtw.history.changes import ABSENT, FieldChange, changes, object_changes, path_text
from orchtw.schema.nodes import Field, ListSchema, MapSchema, Scalar, StructSchema
from orchtw.wire.objects import Object
from tests.end_to_end.case import surface
from tests.history.applied import applied
from tests.properties import examples

POD = Types().root(surface("kubernetes")[1].kind("v1", "Pod").schema)
SERVICE = Types().root(surface("kubernetes")[1].kind("v1", "Service").schema)

ITEM = StructSchema(
    "item",
    [
        Field(name="name", node=Scalar.STRING),
        Field(name="port", node=Scalar.INT32),
        Field(name="words", node=ListSchema(Scalar.STRING)),
    ],
)
THING = StructSchema(
    "thing",
    [
        Field(name="one", node=ListSchema(ITEM, "map", ("name",))),
        Field(name="two", node=ListSchema(ITEM, "map", ("name", "port"))),
        Field(name="set", node=ListSchema(Scalar.STRING, "set")),
        Field(name="atomic", node=ListSchema(ITEM, "atomic")),
        Field(name="map", node=MapSchema(ListSchema(ITEM, "map", ("name",)))),
    ],
)
TYPE = Types().root(THING)

names = st.text(st.sampled_from('ab./"\\=],[$é\n'), max_size=3)
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.0]) | names
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)
items = st.fixed_dictionaries(
    {"name": names}, optional={"port": st.integers(0, 2), "words": st.lists(names, max_size=3), "more": scalars}
)
keyed = st.lists(items, max_size=5, unique_by=lambda item: item["name"])
things = st.fixed_dictionaries(
    {},
    optional={
        "one": keyed,
        "two": st.lists(items, max_size=4),
        "set": st.lists(names, max_size=5),
        "atomic": st.lists(items, max_size=4),
        "map": st.dictionaries(names, keyed, max_size=2),
        "other": values,
    },
)


def shown(value: Any) -> str:
    """The JSON of a value, which tells 1, 1.0 and true apart."""
    return json.dumps(value, sort_keys=True)


def texts(found: list[FieldChange]) -> list[str]:
    """The changes in short: path, old and new value."""
    return [f"{each.op} {path_text(each.path)} {each.old!r} {each.new!r}" for each in found]


class PropertyTests(SynchronousTestCase):
    """Changes of any values, with and without a type."""

    @examples(120)
    @given(values, values)
    def test_untyped(self, old: Any, new: Any) -> None:
        """The changes between two values, made by their paths, turn the one into the other."""
        found = [each.to_json() for each in changes(None, old, new)]
        self.assertEqual(shown(applied(old, found)), shown(new))

    @examples(200)
    @given(things, things)
    def test_typed(self, old: Any, new: Any) -> None:
        """The same with lists whose items are told apart by keys, by value, or not at all."""
        found = [each.to_json() for each in changes(TYPE, old, new)]
        self.assertEqual(shown(applied(old, found)), shown(new))

    @examples(50)
    @given(things)
    def test_nothing(self, value: Any) -> None:
        """A value does not differ from its copy, whatever the order of its members."""
        self.assertEqual(changes(TYPE, value, json.loads(shown(value))), [])


class ChangesTests(SynchronousTestCase):
    """Changes as people read them."""

    def pod(self, **image: str) -> Object:
        """A pod with containers by name."""
        containers = [{"name": name, "image": value, "args": ["-v"]} for name, value in image.items()]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}

    def test_keyed_item(self) -> None:
        """Items of a list with keys are named by them."""
        found = object_changes(POD, self.pod(x="a", y="b"), self.pod(x="a", y="c"))
        self.assertEqual(texts(found), ["replace $.spec.containers[name=\"y\"].image 'b' 'c'"])

    def test_two_keys(self) -> None:
        """Ports are named by number and protocol, also where the protocol is the default."""
        old, new = ({"spec": {"ports": [{"port": 80, "targetPort": at}]}} for at in (1, 2))
        found = texts(object_changes(SERVICE, old, new))
        self.assertEqual(found, ['replace $.spec.ports[port=80,protocol="TCP"].targetPort 1 2'])

    def test_added_and_removed_items(self) -> None:
        """An item that comes or goes is one change with the whole item."""
        found = object_changes(POD, self.pod(x="a"), self.pod(y="a"))
        self.assertEqual(
            [(each.op, path_text(each.path)) for each in found],
            [("remove", '$.spec.containers[name="x"]'), ("add", '$.spec.containers[name="y"]')],
        )

    def test_order(self) -> None:
        """A list that is put in another order changes as a whole: its items do not."""
        found = object_changes(POD, self.pod(x="a", y="b"), self.pod(y="b", x="a"))
        self.assertEqual([path_text(each.path) for each in found], ["$.spec.containers"])

    def test_insertion(self) -> None:
        """An item without a key that is inserted is one change, at its index."""
        found = changes(None, {"rules": [1, 2, 3]}, {"rules": [1, 9, 2, 3]})
        self.assertEqual(texts(found), ["add $.rules[1] ABSENT 9"])
        found = changes(None, {"rules": [1, 2, 3, 4]}, {"rules": [1, 4]})
        self.assertEqual(texts(found), ["remove $.rules[2] 3 ABSENT", "remove $.rules[1] 2 ABSENT"])

    def test_repeated_keys(self) -> None:
        """Items with equal keys, as older objects may have them, are told apart by index."""
        old, new = ([{"name": "a", "port": 1}, {"name": "a", "port": at}] for at in (2, 3))
        self.assertEqual(texts(changes(TYPE, {"one": old}, {"one": new})), ["replace $.one[1].port 2 3"])

    def test_set(self) -> None:
        """Items of a set are named by their value."""
        old, new = ({"metadata": {"finalizers": each}} for each in (["a", "b"], ["b", "c"]))
        found = texts(object_changes(POD, old, new))
        self.assertEqual(
            found, ["remove $.metadata.finalizers[=\"a\"] 'a' ABSENT", "add $.metadata.finalizers[=\"c\"] ABSENT 'c'"]
        )

    def test_unusual_names(self) -> None:
        """A key that is not an identifier stands in brackets, as a JSON string."""
        found = changes(None, {"a/b": 1, "c-d": 1, "e_1": 1, 'f"': 1}, {"a/b": 2, "c-d": 2, "e_1": 2, 'f"': 2})
        paths = [path_text(each.path) for each in found]
        self.assertEqual(paths, ['$["a/b"]', '$["c-d"]', "$.e_1", '$["f\\""]'])

    def test_kinds_of_values(self) -> None:
        """A number that becomes a boolean, a float or null has changed."""
        found = changes(None, [1, 1, 1, {}], [True, 1.0, None, []])
        self.assertEqual([each.new for each in found], [True, 1.0, None, []])

    def test_noise(self) -> None:
        """Fields that change with every write are left out, the generation only if it is not asked for."""
        old, new = (
            {"metadata": {"resourceVersion": at, "generation": int(at), "managedFields": [at]}, "spec": {"a": at}}
            for at in "12"
        )
        self.assertEqual(texts(object_changes(POD, old, new)), ["replace $.spec.a '1' '2'"])
        found = texts(object_changes(POD, old, new, generation=True))
        self.assertEqual(found, ["replace $.metadata.generation 1 2", "replace $.spec.a '1' '2'"])

    def test_created_and_deleted(self) -> None:
        """An object that comes or goes changes in its own fields: names and types are in the record."""
        metadata = {"name": "a", "uid": "u", "labels": {"b": "c"}}
        obj = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {}}
        created = ["add $.metadata.labels ABSENT {'b': 'c'}", "add $.spec ABSENT {}"]
        self.assertEqual(texts(object_changes(POD, None, obj)), created)
        deleted = ["remove $.metadata.labels {'b': 'c'} ABSENT", "remove $.spec {} ABSENT"]
        self.assertEqual(texts(object_changes(POD, obj, None)), deleted)

    def test_replaced_object(self) -> None:
        """An object that was deleted and created again shows another uid."""
        old, new = ({"metadata": {"uid": each}} for each in "ab")
        self.assertEqual(texts(object_changes(POD, old, new)), ["replace $.metadata.uid 'a' 'b'"])

    def test_json(self) -> None:
        """A field that is not there is shown as null, with an operation that tells it from null."""
        self.assertEqual(
            FieldChange(("f:a",), ABSENT, None).to_json(), {"op": "add", "path": "$.a", "old": None, "new": None}
        )
        self.assertEqual(
            FieldChange(("f:a",), None, ABSENT).to_json(), {"op": "remove", "path": "$.a", "old": None, "new": None}
        )
