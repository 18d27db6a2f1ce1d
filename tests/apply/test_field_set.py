"""Tests of `orchtw.apply.field_set`, `field_tree` and `path_element`."""
# covers: orchtw.apply.path_element

from __future__ import annotations

from hypothesis import given
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.field_set import FieldSet
from orchtw.apply.path_element import FieldName, Key, ListIndex, PathElement, Value
from tests.apply.merging import QUICK, SETS

Paths = set[tuple[PathElement, ...]]


def below(path: tuple[PathElement, ...], paths: Paths) -> bool:
    return any(path[:length] in paths for length in range(1, len(path) + 1))


class FieldSetTests(SynchronousTestCase):
    def test_text_is_the_references(self) -> None:
        """FieldsV1 has "." first, then names, keys, values and indexes, numbers by size (reference APPLY-2)."""
        fields = FieldSet.of(
            ("list", ListIndex(0)),
            ("list", Value("z")),
            ("list", Value(10)),
            ("list", Value(9)),
            ("list", Key.of(protocol="TCP", port=443)),
            ("list", Key.of(protocol="TCP", port=80)),
            ("list", Key.of(protocol="TCP", port=80), "note"),
            ("list",),
            ("b",),
            ("a-b",),
            ("a",),
        )
        self.assertEqual(
            fields.encode().decode(),
            '{"f:a":{},"f:a-b":{},"f:b":{},"f:list":{".":{},'
            '"k:{\\"port\\":80,\\"protocol\\":\\"TCP\\"}":{".":{},"f:note":{}},'
            '"k:{\\"port\\":443,\\"protocol\\":\\"TCP\\"}":{},'
            '"v:9":{},"v:10":{},"v:\\"z\\"":{},"i:0":{}}}',
        )

    def test_html_is_escaped_in_values(self) -> None:
        """The reference's JSON escapes what HTML would read inside keys and values, not in field names."""
        fields = FieldSet.of(("a<b",), ("l", Value("<&>")))
        self.assertEqual(fields.encode(), b'{"f:a<b":{},"f:l":{"v:\\"\\\\u003c\\\\u0026\\\\u003e\\"":{}}}')
        self.assertEqual(FieldSet.decode(fields.encode()), fields)

    def test_spelling_of_a_key_does_not_matter(self) -> None:
        """Steps that others spelled with spaces or in another order are the same steps."""
        told = FieldSet.decode(b'{"f:l":{"k:{\\"b\\": 1.0, \\"a\\": 2}":{"f:x":{}}, "k:{\\"a\\":2,\\"b\\":1}":{}}}')
        key = Key.of(a=2, b=1)
        self.assertEqual(told, FieldSet.of(("l", key), ("l", key, "x")))

    def test_unknown_steps_are_dropped(self) -> None:
        """A kind of step that a later release may bring is left out, as the reference does."""
        self.assertEqual(FieldSet.decode(b'{"f:a":{},"z:9":{"f:b":{}}}'), FieldSet.of(("a",)))

    def test_malformed_steps_are_refused(self) -> None:
        """A text that does not encode a set of fields raises ValueError."""
        for text in (b'{"":{}}', b'{"f":{}}', b'{"k:x":{}}', b'{"k:1":{}}', b'{"i:x":{}}', b"[]", b'{"f:a":1}', b"{"):
            with self.subTest(text=text):
                self.assertRaises(ValueError, FieldSet.decode, text)

    def test_membership_is_of_the_very_path(self) -> None:
        """A member says nothing of what is above or below it."""
        fields = FieldSet.of(("a", "b"), ("c",))
        self.assertEqual(
            [fields.has("a", "b"), fields.has("a"), fields.has("c", "d"), fields.has("c"), fields.has()],
            [True, False, False, True, False],
        )

    def test_texts_of_paths(self) -> None:
        """Messages show `.name`, `[name="c"]`, `[="v"]` and `[0]`, the paths that end on a level first
        (reference APPLY-25).
        """
        fields = FieldSet.of(("a", "b"), ("a", Key.of(n="c", p=1)), ("a", Value("v")), ("a", ListIndex(0)), ("z",))
        self.assertEqual(list(fields.texts()), [".z", ".a.b", '.a[n="c",p=1]', '.a[="v"]', ".a[0]"])

    def test_difference_keeps_parts(self) -> None:
        """Taking a path away leaves what is below it, unless it is taken away recursively."""
        fields = FieldSet.of(("a",), ("a", "b"))
        self.assertEqual(fields.difference(FieldSet.of(("a",))), FieldSet.of(("a", "b")))
        self.assertFalse(fields.recursive_difference(FieldSet.of(("a",))))

    def test_numbers_and_booleans_differ(self) -> None:
        """True is not 1 among the items of a set."""
        self.assertNotEqual(FieldSet.of((Value(True),)), FieldSet.of((Value(1),)))


class FieldSetPropertyTests(SynchronousTestCase):
    @QUICK
    @given(SETS)
    def test_round_trip(self, fields: FieldSet) -> None:
        """A set is the same after FieldsV1, and its paths are all it is made of."""
        self.assertEqual(FieldSet.decode(fields.encode()), fields)
        self.assertEqual(FieldSet.of(*fields), fields)
        self.assertEqual(len(list(fields)), len(fields))

    @QUICK
    @given(SETS, SETS)
    def test_algebra_is_that_of_sets_of_paths(self, left: FieldSet, right: FieldSet) -> None:
        """Union, difference and intersection are those of Python's sets of the paths."""
        a, b = set(left), set(right)
        self.assertEqual(set(left.union(right)), a | b)
        self.assertEqual(set(left.difference(right)), a - b)
        self.assertEqual(set(left.intersection(right)), a & b)
        self.assertEqual(set(left.recursive_difference(right)), {path for path in a if not below(path, b)})
        self.assertEqual(left == right, a == b)
        self.assertEqual(bool(left), bool(a))

    @QUICK
    @given(SETS)
    def test_leaves(self, fields: FieldSet) -> None:
        """Leaves are the paths that no other path begins with."""
        paths = set(fields)
        inner = {path[:length] for path in paths for length in range(1, len(path))}
        self.assertEqual(set(fields.leaves()), paths - inner)

    @QUICK
    @given(SETS, SETS, SETS)
    def test_laws(self, a: FieldSet, b: FieldSet, c: FieldSet) -> None:
        """Union and intersection are associative and commutative; what is taken away was there."""
        self.assertEqual(a.union(b).union(c), a.union(b.union(c)))
        self.assertEqual(a.union(b), b.union(a))
        self.assertEqual(a.intersection(b).intersection(c), a.intersection(b.intersection(c)))
        self.assertEqual(a.intersection(b), b.intersection(a))
        self.assertEqual(a.difference(b).union(a.intersection(b)), a)
        self.assertEqual(a.union(a), a)

    @QUICK
    @given(SETS, SETS)
    def test_arguments_stay_as_they_are(self, left: FieldSet, right: FieldSet) -> None:
        """No operation changes its operands, which may share their trees with many others."""
        before = left.encode(), right.encode()
        left.union(right).insert(FieldName("new")).difference(left)
        left.intersection(right)
        left.recursive_difference(right)
        self.assertEqual((left.encode(), right.encode()), before)
