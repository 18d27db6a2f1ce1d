"""Validators compiled from schema nodes, which need not come from descriptors."""
# covers: orchtw.schema.nodes

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES, Cause, Invalid
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.nodes import Field, ListSchema, MapSchema, Node, NodeForm, OneOf, Scalar, StructRules, StructSchema
from orchtw.schema.validation.validators import Validators

LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def struct(*fields: Field, **more: Any) -> StructSchema:
    return StructSchema("example.Thing", fields, **more)


def field(name: str, node: Node, *, pointer: bool = False, **rules: Any) -> Field:
    return Field(name=name, node=node, pointer=pointer, rules=StructRules(**rules) if rules else None)


class ValidatorCase(SynchronousTestCase):
    """Validates values of schemas of the tests' own."""

    def causes(self, schema: StructSchema, new: dict[str, Any], old: dict[str, Any] | None = None) -> list[Cause]:
        validate = Validators().find(schema)
        assert validate is not None
        return validate(new, old)

    def check(self, tested: Field, value: object, *expected: tuple[str, str]) -> None:
        """A struct with nothing but `tested` gives these fields and messages for `value`; None: it is absent."""
        found = self.causes(struct(tested), {} if value is None else {tested.name: value})
        self.assertEqual([(cause.field, cause.message) for cause in found], list(expected))


class RuleTests(ValidatorCase):
    """One rule at a time."""

    def test_required(self) -> None:
        """A required value is there; where absence is zero, zero is absent; where it is not, zero is fine."""
        missing = ("a", "Required value")
        text = field("a", Scalar.STRING, required=True)
        self.check(text, None, missing)
        self.check(text, "", missing)
        self.check(text, "x")
        number = field("a", Scalar.INT32, required=True, pointer=True)
        self.check(number, None, missing)
        self.check(number, 0)
        empty: object
        for empty in ([], {}):
            self.check(field("a", ListSchema(Scalar.STRING), required=True), empty, missing)
            self.check(field("a", ListSchema(Scalar.STRING), required=True, pointer=True), empty)

    def test_limits_of_numbers(self) -> None:
        """The usual texts name the limit, or both; a rule may bring its own; what is absent has no limits."""
        least, most = field("a", Scalar.INT32, minimum=1), field("a", Scalar.INT64, maximum=9)
        self.check(least, 0, ("a", "Invalid value: 0: must be greater than or equal to 1"))
        self.check(most, 10, ("a", "Invalid value: 10: must be less than or equal to 9"))
        port = field("a", Scalar.INT32, minimum=1, maximum=65535)
        value: int | None
        for value in (0, 65536):
            self.check(port, value, ("a", f"Invalid value: {value}: must be between 1 and 65535, inclusive"))
        for value in (1, 65535, None):
            self.check(port, value)
        own = field("a", Scalar.DOUBLE, minimum=0, detail="must not be negative")
        self.check(own, -0.5, ("a", "Invalid value: -0.5: must not be negative"))

    def test_required_detail(self) -> None:
        """The text for a missing value may be the rule's own."""
        self.check(field("a", Scalar.STRING, required=True, required_detail="why"), "", ("a", "Required value: why"))

    def test_unique_by(self) -> None:
        """No element has a key's value twice, whatever the list's type."""
        things = ListSchema(struct(Field(name="n", node=Scalar.STRING)))
        tested = field("a", things, unique_by="n")
        self.check(tested, [{"n": "x"}, {"n": "y"}, {"n": "x"}], ("a[2].n", 'Duplicate value: "x"'))

    def test_unchecked(self) -> None:
        """Nothing holds of what is in an unchecked field."""
        inner = struct(field("n", Scalar.STRING, required=True))
        schema = struct(Field(name="a", node=inner, unchecked=True), field("b", Scalar.STRING, required=True))
        self.assertEqual([cause.field for cause in self.causes(schema, {"a": {}})], ["b"])

    def test_checks(self) -> None:
        """A check is called for its struct wherever it stands; outside lists it is told what was there before."""
        seen: list[tuple[Any, Any]] = []

        def check(new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
            seen.append((new, old))
            return [Cause("FieldValueInvalid", "", "n")]

        inner = StructSchema("example.Inner", [Field(name="n", node=Scalar.STRING)])
        inline = StructSchema("example.Outer", [Field(name="", node=inner, inline=True)])
        schema = struct(
            Field(name="one", node=inner),
            Field(name="all", node=ListSchema(inner)),
            Field(name="in", node=inline),
        )
        validate = Validators({"example.Inner": check}).find(schema)
        assert validate is not None
        new = {"one": {"n": "1"}, "all": [{"n": "2"}], "in": {"n": "3"}}
        found = validate(new, {"one": {"n": "0"}, "all": [{}]})
        self.assertEqual([cause.field for cause in found], ["one.n", "all[0].n", "in.n"])
        self.assertEqual(seen, [({"n": "1"}, {"n": "0"}), ({"n": "2"}, None), ({"n": "3"}, None)])

    def test_consequences(self) -> None:
        """Consequences run last, with the causes, where there are any."""

        def follow(new: dict[str, Any], causes: list[Cause]) -> list[Cause]:
            return [Cause("FieldValueNotFound", "", f"after {cause.field}") for cause in causes]

        inner = StructSchema("example.Inner", [field("n", Scalar.STRING, required=True)])
        validate = Validators({}, {"example.Inner": follow}).find(struct(Field(name="all", node=ListSchema(inner))))
        assert validate is not None
        found = validate({"all": [{"n": "a"}, {}]}, None)
        self.assertEqual([cause.field for cause in found], ["all[1].n", "all[1].after n"])

    def test_number_or_text(self) -> None:
        """Limits hold for the numbers of what may be a text, too."""
        either = field("a", NodeForm.INT_OR_STRING, minimum=0)
        self.check(either, "25%")
        self.check(either, -1, ("a", "Invalid value: -1: must be greater than or equal to 0"))

    def test_allowed(self) -> None:
        """A closed set names its values in order."""
        policy = field("a", Scalar.STRING, allowed=("B", "A"))
        self.check(policy, "A")
        self.check(policy, "c", ("a", 'Unsupported value: "c": supported values: "A", "B"'))

    def test_length(self) -> None:
        """Lengths of texts count bytes."""
        text = field("a", Scalar.STRING, max_length=3)
        self.check(text, "abc")
        self.check(text, "ää", ("a", "Too long: must have at most 3 bytes"))

    def test_format(self) -> None:
        """A text has the form that the rule names."""
        label = field("a", Scalar.STRING, format="dns_label")
        self.check(label, "a-b")
        self.check(label, "A", ("a", f'Invalid value: "A": {LABEL_TEXT}'))

    def test_counts(self) -> None:
        """Lists and maps have enough entries, and not too many; none at all is missing."""
        counted: dict[str, Any] = {"min_items": 2, "max_items": 2}
        cases: list[tuple[Node, Any, Any, Any]] = [
            (ListSchema(Scalar.STRING), [], ["a"], ["a", "b", "c"]),
            (MapSchema(Scalar.STRING), {}, {"a": ""}, {"a": "", "b": "", "c": ""}),
        ]
        for node, empty, one, three in cases:
            tested = field("a", node, **counted)
            self.check(tested, empty, ("a", "Required value"))
            self.check(tested, one, ("a", "Invalid value: 1: must have at least 2 items"))
            self.check(tested, three, ("a", "Too many: 3: must have at most 2 items"))

    def test_unique_values(self) -> None:
        """No element of a set comes twice."""
        tested = field("a", ListSchema(Scalar.STRING, "set"), unique=True)
        self.check(tested, ["x", "y"])
        self.check(tested, ["x", "y", "x", "x"], *[(f"a[{i}]", 'Duplicate value: "x"') for i in (2, 3)])

    def test_unique_keys(self) -> None:
        """Elements of a list map differ in its keys; a cause is at the only key, or else shows them all."""
        part = struct(field("name", Scalar.STRING), field("port", Scalar.INT32))
        by_name = field("a", ListSchema(part, "map", ("name",)), unique=True)
        self.check(by_name, [{"name": "x"}, {"name": "y"}, {"port": 1}, {"port": 1}])
        self.check(by_name, [{"name": "x"}, {"name": "x", "port": 1}], ("a[1].name", 'Duplicate value: "x"'))
        by_both = field("a", ListSchema(part, "map", ("name", "port")), unique=True)
        self.check(by_both, [{"name": "x", "port": 1}, {"name": "x", "port": 2}])
        twice = [{"name": "x", "port": 1}] * 2
        self.check(by_both, twice, ("a[1]", 'Duplicate value: {"name":"x","port":1}'))

    def test_immutable(self) -> None:
        """An update leaves the value; a create may choose it."""
        schema = struct(field("spec", struct(field("a", Scalar.STRING, immutable=True))))
        new, old = {"spec": {"a": "x"}}, {"spec": {"a": "y"}}
        self.assertEqual(self.causes(schema, new), [])
        self.assertEqual(self.causes(schema, new, new), [])
        before: dict[str, Any]
        for before in (old, {"spec": {}}):
            found = self.causes(schema, new, before)
            self.assertEqual(found, [Cause("FieldValueInvalid", 'Invalid value: "x": field is immutable', "spec.a")])
        self.assertEqual(len(self.causes(schema, {"spec": {}}, old)), 1)

    def test_one_of(self) -> None:
        """Of fields that exclude each other each further one is refused, and none at all if one is needed."""
        sources = struct(
            field("name", Scalar.STRING), field("b", struct()), field("c", struct()),
            one_of=(OneOf(("b", "c"), "may not specify more than 1 source", "must specify a source"),),
        )  # fmt: skip
        volumes = field("a", ListSchema(sources))
        self.check(volumes, [{"name": "x", "b": {}}, {"c": {}, "b": None}])
        self.check(
            volumes,
            [{"b": {}, "c": {}}, {"name": "x"}],
            ("a[0].c", "Forbidden: may not specify more than 1 source"),
            ("a[1]", "Required value: must specify a source"),
        )

    def test_one_of_inline(self) -> None:
        """The fields of a struct whose keys stand in its parent exclude each other there."""
        source = struct(field("b", struct()), field("c", struct()), one_of=(OneOf(("b", "c"), "only one"),))
        volume = struct(Field(name="", node=source, inline=True))
        self.assertEqual([each.field for each in self.causes(volume, {"b": {}, "c": {}})], ["c"])
        self.assertEqual(self.causes(volume, {}), [])


class PlaceTests(ValidatorCase):
    """Fields that causes name, from the root to the item."""

    def test_elements_and_keys(self) -> None:
        """Elements are named by index, values and keys of maps by key, at any depth."""
        labels = StructRules(key=StructRules(format="dns_label"), item=StructRules(max_length=1))
        nested = Field(name="a", node=ListSchema(MapSchema(Scalar.STRING)), rules=StructRules(item=labels))
        self.check(
            nested,
            [{}, {"X": "abc"}],
            ("a[1][X]", f'Invalid value: "X": {LABEL_TEXT}'),
            ("a[1][X]", "Too long: must have at most 1 bytes"),
        )
        named = field("a", ListSchema(Scalar.STRING), item=StructRules(required=True))
        self.check(named, ["x", ""], ("a[1]", "Required value"))

    def test_long_keys(self) -> None:
        """A path shows the beginning of a client's long key."""
        tested = field("a", MapSchema(Scalar.INT32), item=StructRules(minimum=1))
        (cause,) = self.causes(struct(tested), {"a": {"k" * 5000: 0}})
        self.assertLess(len(cause.field), 1100)

    def test_order_of_fields(self) -> None:
        """All causes come at once, in the order of the fields."""
        inner = struct(field("y", Scalar.INT32, minimum=1), field("x", Scalar.INT32, minimum=1))
        schema = struct(
            field("b", inner), field("a", ListSchema(inner)), field("c", MapSchema(inner)), field("d", Scalar.STRING)
        )
        bad = {"y": 0, "x": 0}
        found = self.causes(schema, {"b": bad, "a": [bad], "c": {"k": bad}})
        self.assertEqual([each.field for each in found], ["b.y", "b.x", "a[0].y", "a[0].x", "c[k].y", "c[k].x"])

    def test_any_key(self) -> None:
        """Keys come out of data and never into the code, whatever is in them."""
        name = "a'\"{}\\\n"
        odd = field(name, Scalar.INT32, minimum=1)
        self.check(odd, 0, (name, "Invalid value: 0: must be greater than or equal to 1"))

    def test_bounded(self) -> None:
        """Of very many problems a few more are returned than are shown."""
        flat = field("a", ListSchema(Scalar.INT32), item=StructRules(minimum=1))
        deep = field("a", ListSchema(ListSchema(Scalar.INT32)), item=StructRules(item=StructRules(minimum=1)))
        parts = field("a", ListSchema(struct(field("n", Scalar.INT32, minimum=1))))
        for tested, value in ((flat, [0] * 10_000), (deep, [[0] * 1000] * 1000), (parts, [{"n": 0}] * 10_000)):
            found = self.causes(struct(tested), {"a": value})
            self.assertTrue(MAX_CAUSES < len(found) <= 2 * MAX_CAUSES + 2, len(found))


class CompilationTests(SynchronousTestCase):
    """Compilation of validators on demand."""

    def test_no_rules_no_validator(self) -> None:
        """A struct without a rule in or below it costs nothing, and the parts without rules are not looked at."""
        plain = struct(field("a", Scalar.STRING), field("b", ListSchema(struct(field("c", Scalar.INT32)))))
        self.assertIsNone(Validators().find(plain))
        half = struct(field("plain", plain), field("n", Scalar.INT32, minimum=0))
        validate = Validators().find(half)
        assert validate is not None
        self.assertEqual(validate({"plain": object(), "n": 1}, None), [])

    def test_recursion(self) -> None:
        """Structs that contain each other are validated at every depth, wherever the rule is."""
        outer = StructSchema("example.Outer", lambda: [field("inner", inner), field("n", Scalar.INT32, minimum=1)])
        inner = StructSchema("example.Inner", lambda: [field("outer", outer), field("more", ListSchema(inner))])
        for first in (outer, inner):
            validators = Validators()
            self.assertIsNotNone(validators.find(first))
            validate = validators.find(inner)
            assert validate is not None
            found = validate({"more": [{"more": [{"outer": {"n": 0}}]}]}, None)
            self.assertEqual([each.field for each in found], ["more[0].more[0].outer.n"])

    def test_recursion_without_rules(self) -> None:
        """Structs that contain each other and have no rule have no validator."""
        outer = StructSchema("example.Outer", lambda: [field("inner", inner)])
        inner = StructSchema("example.Inner", lambda: [field("outer", outer)])
        self.assertEqual((Validators().find(outer), Validators().find(inner)), (None, None))

    def test_any_name(self) -> None:
        """A struct may be called anything, also by names that no function can have."""
        for name in ("", "example.Foo-Bar", "1st", "über x"):
            schema = StructSchema(name, [field("n", Scalar.INT32, minimum=1)])
            validate = Validators().find(schema)
            assert validate is not None
            self.assertEqual(len(validate({"n": 0}, None)), 1)

    def test_misplaced_rules(self) -> None:
        """A rule that does not fit its field's type is an error in the schema."""
        cases: list[tuple[Node, dict[str, Any]]] = [
            (Scalar.STRING, {"minimum": 1}),
            (Scalar.INT32, {"format": "dns_label"}),
            (Scalar.STRING, {"format": "no such"}),
            (Scalar.BOOL, {"max_length": 1}),
            (MapSchema(Scalar.STRING), {"unique": True}),
            (ListSchema(Scalar.STRING), {"item": StructRules(immutable=True)}),
            (ListSchema(Scalar.STRING), {"key": StructRules()}),
        ]
        for node, rules in cases:
            self.assertRaises(ValueError, Validators().find, struct(field("a", node, **rules)))


class DeclaredRulesTests(SynchronousTestCase):
    """The rules of `protos/`."""

    def test_all_compile(self) -> None:
        """Every declared rule fits its field, and what excludes each other are fields, in both vocabularies."""
        for naming in (Naming.orch(), Naming.kubernetes()):
            catalogue = Catalogue.load(naming)
            codecs = Codecs(catalogue)
            validators = Validators()
            ruled = set()
            for message in sorted({resource.message for resource in catalogue.resources}):
                for schema in _structs(codecs.schemas.node(message), set()):
                    if validators.find(schema) is not None:
                        ruled.add(schema.name)
                    for one_of in schema.one_of:
                        self.assertLessEqual(set(one_of.keys), schema.keys.keys(), schema.name)
            self.assertIn("orch.io.api.node.v1.RuntimeClass", ruled)
            self.assertNotIn("orch.io.apimachinery.pkg.apis.meta.v1.ObjectMeta", ruled)

    def test_usual_refusal(self) -> None:
        """Findings make the usual 422 (reference ERR-12, KIND-34)."""
        codec = Codecs(Catalogue.load(Naming.orch())).kind("node.orch.io/v1", "RuntimeClass")
        runtime_class = codec.normalise({"metadata": {"name": "a"}, "handler": "A"})
        causes = codec.check(runtime_class, None)
        message = f'Invalid value: "A": {LABEL_TEXT}'
        self.assertEqual(causes, [Cause("FieldValueInvalid", message, "handler")])
        status = Invalid.of("RuntimeClass", "node.orch.io", "a", causes).to_status()
        self.assertEqual(status["message"], f'RuntimeClass.node.orch.io "a" is invalid: handler: {message}')
        changed = codec.check({**runtime_class, "handler": "b"}, {**runtime_class, "handler": "c"})
        self.assertEqual(changed, [Cause("FieldValueInvalid", 'Invalid value: "b": field is immutable', "handler")])


def _structs(node: Node, seen: set[StructSchema]) -> set[StructSchema]:
    """Every struct in or below `node`."""
    while isinstance(node, ListSchema | MapSchema):
        node = node.element if isinstance(node, ListSchema) else node.value
    if isinstance(node, StructSchema) and node not in seen:
        seen.add(node)
        for each in node.fields:
            _structs(each.node, seen)
    return seen
