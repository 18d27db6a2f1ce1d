"""Objects of custom kinds (reference CRD-14, CRD-17), each example with a definition of its own."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.admission.attributes import Attributes
from orchtw.schema.custom.formats import is_known
from tests.emulated import RELEASE
from tests.schema.custom.test_formats import BAD, GOOD
from tests.validation import case
from tests.validation.custom import OBJECT, CustomCase, Defined, of_x, refused_x, scaled, with_status
from tests.validation.definitions import EMBEDDED, KEYED, OPEN, PARTS, SCHEMA
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored

RULES = "tests.schema.custom.test_rules"
SHAPES = "tests.schema.custom.test_shape"
WRITES = "tests.verbs.test_custom_resources"
STRING = {"type": "string"}


class CustomResourceTests(CustomCase, case.EntryCase):
    file = "apiextensions.json"
    kinds = (OBJECT,)

    @property
    def bases(self) -> Mapping[str, Base]:  # type: ignore[override]
        return {OBJECT: self.base}

    examples = {
        134: [
            Refused(change={"kind": "Other"}, detail="must be Widget"),
            Refused(on="update", change={"kind": "Other"}, detail="must be Widget"),
        ],
        135: Refused(
            change={"apiVersion": "example.com/v2"}, code=400, detail="does not match the expected API version"
        ),
        136: [
            Refused(change={"metadata.name": "A_b"}, field="metadata.name", detail="RFC 1123 subdomain"),
            Refused(change={"metadata.labels": {"a": "$"}}, field="metadata.labels"),
            Refused(on="update", change={"metadata.annotations": {"$": "a"}}, field="metadata.annotations"),
        ],
        137: [
            Refused(change={"metadata.labels": {"a": 1}}, code=400, detail="metadata"),
            Defined(
                definition=of_x({**EMBEDDED, **OPEN}),
                example=Refused(
                    change={"spec.x": {"apiVersion": "v1", "kind": "A", "metadata": {"labels": []}}},
                    accepts={"spec.x": {"apiVersion": "v1", "kind": "A", "metadata": {"labels": {}}}},
                    code=400,
                    detail=r"spec\.x\.metadata",
                ),
            ),
            Shown(f"{SHAPES}.RefreshTests.test_what_no_longer_fits"),
        ],
        138: [
            refused_x(STRING, 1, "a"),
            refused_x({"type": "integer"}, 1.5, 2.0, detail="must be of type integer"),
            refused_x({"type": "boolean"}, "true", True, detail='type boolean: "string"', on="update"),
        ],
        139: [
            Defined(
                definition=of_x(STRING, "x"),
                example=Refused(change={"spec.x": GONE}, before={"spec.x": "a"}, field="spec.x", on=on),
            )
            for on in ("create", "update")
        ],
        140: refused_x({**STRING, "enum": ["a", "b"]}, "c", "b"),
        141: refused_x({**STRING, "maxLength": 3}, "abcd", "abc"),
        142: refused_x({"type": "array", "items": STRING, "maxItems": 3}, ["a"] * 4, ["a"] * 3),
        143: refused_x(
            {"type": "object", "additionalProperties": STRING, "maxProperties": 3},
            dict.fromkeys("abcd", "x"),
            dict.fromkeys("abc", "x"),
        ),
        144: [
            refused_x({**STRING, "minLength": 3}, "ab", "abc"),
            refused_x({"type": "array", "items": STRING, "minItems": 1}, [], ["a"], detail="at least 1 items"),
            refused_x({"type": "object", **OPEN, "minProperties": 1}, {}, {"a": 1}, detail="at least 1 properties"),
            refused_x({"type": "integer", "minimum": 1}, 0, 1),
            refused_x({"type": "integer", "maximum": 1}, 2, 1, detail="should be less than or equal to 1"),
            refused_x({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, 2, detail="greater than 1"),
            refused_x({"type": "integer", "maximum": 1, "exclusiveMaximum": True}, 1, 0, detail="less than 1"),
            refused_x({"type": "integer", "multipleOf": 2}, 3, 4, detail="should be a multiple of 2"),
            refused_x({**STRING, "pattern": "^a$"}, "b", "a"),
            Shown(f"{__name__}.FormatTests.test_formats"),
        ],
        145: [
            Defined(
                definition={
                    **of_x({"type": "integer"}),
                    f"{SCHEMA}.properties.spec.oneOf": [{"required": ["x"]}],
                },
                example=Refused(change={"spec": {}}, accepts={"spec.x": 1}, field="<nil>"),
            ),
            *(
                refused_x({**STRING, **conditions}, "ab", "abcd", "<nil>", detail)
                for conditions, detail in (
                    ({"allOf": [{"minLength": 3}]}, r'"spec.x" must validate all the schemas \(allOf\)'),
                    ({"anyOf": [{"minLength": 3}, {"maxLength": 1}]}, r"must validate at least one schema \(anyOf\)"),
                    ({"not": {"maxLength": 2}}, r"must not validate the schema \(not\)"),
                )
            ),
            Shown("tests.schema.custom.test_validation.ObjectTests.test_no_additional"),
        ],
        146: Shown(f"{__name__}.FormatTests.test_formats"),
        147: [
            refused_x({"type": "array", "items": STRING}, [None], ["a"], "spec.x[0]", '"null"'),
            Defined(
                definition=of_x({**STRING, "nullable": True}),
                example=Stored(change={"spec.x": None}, expected={"spec.x": None}),
            ),
            Defined(
                definition=of_x({**STRING, "default": "a"}),
                example=Stored(change={"spec.x": None}, expected={"spec.x": "a"}),
            ),
        ],
        148: refused_x(
            {"type": "array", "items": STRING, "x-orch-list-type": "set"}, ["a", "b", "a"], ["a", "b"], "spec.x[2]"
        ),
        149: refused_x({"type": "array", "items": PARTS, **KEYED}, [{"k": "a"}] * 2, [{"k": "a"}], "spec.x[1]"),
        150: Shown("tests.schema.custom.test_validation.ListTests.test_map"),
        151: [
            refused_x(
                {**EMBEDDED, **OPEN},
                {"apiVersion": "a/b/c", "kind": "A"},
                {"apiVersion": "a/b", "kind": "A"},
                "spec.x.apiVersion",
            ),
            refused_x(
                {**EMBEDDED, **OPEN},
                {"apiVersion": "v1", "kind": "A", "metadata": {"labels": {"a": "$"}}},
                {"apiVersion": "v1", "kind": "A", "metadata": {"labels": {"a": "b"}}},
                "spec.x.metadata.labels",
            ),
            Shown(f"{SHAPES}.MetadataTests.test_embedded_faults"),
        ],
        152: Shown(f"{__name__}.ChangedTests.test_list_types"),
        153: [Shown(f"{RULES}.CauseTests.test_texts"), Shown(f"{RULES}.CauseTests.test_paths")],
        154: Shown(f"{RULES}.TransitionTests.test_update"),
        **{
            number: [
                scaled(Refused(change={path: -1}, accepts={path: 0}, field=f".{path}")),
                scaled(
                    Refused(on="update", change={path: 1 << 31}, field=f".{path}", detail="or equal to 2147483647")
                ),
            ]
            for number, path in ((155, "spec.n"), (156, "status.n"))
        },
        157: scaled(Refused(change={"status.s": 5}, accepts={"status.s": "a=b"}, field=".status.s")),
        158: Shown(f"{WRITES}.ScaleTests.test_missing"),
        159: with_status(Stored(change={"status.a": 1}, expected={"status": GONE})),
        160: with_status(Stored(change={"status.a": 1, "spec.b": 1}, expected={"status": GONE, "spec.b": 1})),
        161: with_status(
            Stored(
                change={"status.a": 1, "spec.b": 1, "metadata.labels": {"a": "b"}},
                expected={"status.a": 1, "spec.b": GONE, "metadata.labels": GONE},
            )
        ),
        162: Stored(change={"metadata.generation": 7}, expected={"metadata.generation": 1}),
        163: [
            with_status(Stored(change={"metadata.labels": {"a": "b"}}, expected={"metadata.generation": 1})),
            with_status(Stored(change={"spec.b": 1}, expected={"metadata.generation": 2})),
            with_status(Stored(on="status", change={"status.a": 1}, expected={"metadata.generation": 1})),
            Defined(
                definition={SCHEMA: {"type": "object", **OPEN}},
                example=Stored(change={"status.a": 1}, expected={"metadata.generation": 2}),
            ),
        ],
        164: Refused(change={"metadata.resourceVersion": GONE}, detail="must be specified for an update"),
        165: [
            Stored(change={"spec.a": 1, "b": 2}, expected={"spec": GONE, "b": GONE}),
            Defined(
                definition={SCHEMA: {"type": "object", **OPEN}},
                example=Stored(change={"spec.a": 1, "b": 2}, expected={"spec.a": 1, "b": 2}),
            ),
            Shown("tests.end_to_end.test_custom_objects.ValueTests.test_strict"),
        ],
        166: [
            *(
                Defined(
                    definition=of_x({**STRING, "default": "a"}),
                    example=Stored(on=on, before={"spec": {}}, change={"spec.x": GONE}, expected={"spec.x": "a"}),
                )
                for on in ("create", "update")
            ),
            Shown(f"{__name__}.ChangedTests.test_defaults"),
        ],
        167: [
            Shown(f"{__name__}.OrderTests.test_admission"),
            Defined(
                definition={
                    **of_x({**STRING, "default": "a"}),
                    f"{SCHEMA}.properties.spec.minProperties": 1,
                    f"{SCHEMA}.properties.spec.maxProperties": 1,
                },
                example=Accepted(change={"spec.unknown": "pruned before members are counted"}),
            ),
        ],
    }


class FormatTests(CustomCase):
    def test_formats(self) -> None:
        """Known formats are checked, of others nothing is known (reference CRD-33)."""
        members = {name: {**STRING, "format": name} for name in [*BAD, "phone"]}
        self.define({SCHEMA: {"type": "object", "properties": {"spec": {"type": "object", "properties": members}}}})
        good = {name: GOOD[name][0] for name in GOOD}
        self.done("POST", self.base.path, {**self.base.obj, "spec": {**good, "phone": "x"}})
        answer = self.send("POST", self.base.path, {**self.base.obj, "spec": {name: BAD[name][0] for name in BAD}})
        found = {each["field"]: each["reason"] for each in answer.json["details"]["causes"]}
        self.assertEqual(found, {f"spec.{name}": "FieldValueTypeInvalid" for name in BAD if is_known(name, RELEASE)})


class ChangedTests(CustomCase):
    """Objects from before their schema changed."""

    def test_list_types(self) -> None:
        """Duplicates may stay where they were, and come back nowhere (reference CRD-37)."""
        lists = {"type": "array", "items": STRING}
        self.define(of_x(lists, y={**lists, "x-orch-list-type": "set"}))
        made = self.done("POST", self.base.path, {**self.base.obj, "spec": {"x": ["a", "a"], "y": ["b"]}})
        sound = {**self.base.obj, "metadata": {"name": "sound"}, "spec": {"x": ["a"]}}
        sound = self.done("POST", self.base.path, sound)
        self.redefine({f"{SCHEMA}.properties.spec.properties.x.x-orch-list-type": "set"})
        made["spec"] |= {"x": ["a", "a", "c"], "y": ["b", "b"]}
        made = self.done("PUT", f"{self.base.path}/a", made)
        made["spec"] = {"x": ["a"], "y": ["b"]}
        made = self.done("PUT", f"{self.base.path}/a", made)
        for obj in (made, sound):
            obj["spec"]["x"] = ["a", "a"]
            answer = self.send("PUT", f"{self.base.path}/{obj['metadata']['name']}", obj)
            (cause,) = answer.json["details"]["causes"]
            self.assertEqual((cause["reason"], cause["field"]), ("FieldValueDuplicate", "spec.x[1]"))

    def test_defaults(self) -> None:
        """Objects read from the store have the present defaults (reference CRD-16)."""
        self.define(of_x(STRING))
        self.done("POST", self.base.path, {**self.base.obj, "spec": {}})
        self.redefine({f"{SCHEMA}.properties.spec.properties.x.default": "later"})
        self.assertEqual(self.done("GET", f"{self.base.path}/a")["spec"], {"x": "later"})


class OrderTests(CustomCase):
    def test_admission(self) -> None:
        """Admission sees what is pruned and completed, and what it makes of that is validated."""
        self.define(of_x({**STRING, "default": "a", "maxLength": 3}))
        sent = {**self.base.obj, "spec": {"unknown": 1}}
        self.forget()
        seen = self.seen("POST", self.base.path, sent)
        assert seen.obj is not None
        self.assertEqual(seen.obj["spec"], {"x": "a"})

        def lengthen(attributes: Attributes) -> None:
            assert attributes.obj is not None
            attributes.obj["spec"] = {"x": "too long"}

        self.plugin.mutate = lengthen
        answer = self.send("POST", self.base.path, {**sent, "metadata": {"name": "b"}})
        self.assertEqual((answer.code, answer.json["details"]["causes"][0]["field"]), (422, "spec.x"))
