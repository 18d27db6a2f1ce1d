"""Label and field selectors: grammar, meaning and refusals (reference READ-18, READ-20)."""
# covers: orchtw.rules.field_selectors

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Cause
from orchtw.rules.selectors import (
    ALL_FIELDS,
    ALL_LABELS,
    FieldSelector,
    exact_field,
    field_value,
    parse_fields,
    parse_labels,
    selector_of_object,
    validate_selector_object,
)
from orchtw.wire.objects import Object

POD_FIELDS = ("metadata.name", "metadata.namespace", "spec.nodeName", "status.phase", "status.podIPs")
NODE_FIELDS = ("metadata.name", "spec.unschedulable")
JOB_FIELDS = ("metadata.name", "metadata.namespace", "status.successful")
EVENT_FIELDS = ("metadata.name", "metadata.namespace", "regarding.kind", "reportingController", "type")
GENERIC = ("metadata.name", "metadata.namespace")

LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation "
    "is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

# text, canonical text, labels that match, labels that do not
LABELS: list[tuple[str, str, list[dict[str, str]], list[dict[str, str]]]] = [
    ("", "", [{}, {"a": "b"}], []),
    ("a", "a", [{"a": ""}, {"a": "b"}], [{}, {"b": ""}]),
    ("!a", "!a", [{}, {"b": ""}], [{"a": ""}]),
    (" a = b ", "a=b", [{"a": "b"}], [{}, {"a": "c"}]),
    ("a==b", "a==b", [{"a": "b"}], [{"a": ""}]),
    ("a!=b", "a!=b", [{}, {"a": "c"}], [{"a": "b"}]),
    ("a=", "a=", [{"a": ""}], [{}, {"a": "b"}]),
    ("a in (c, b)", "a in (b,c)", [{"a": "b"}, {"a": "c"}], [{}, {"a": "d"}]),
    ("a in ()", "a in ()", [{"a": ""}], [{}, {"a": "b"}]),
    ("a in (,b)", "a in (,b)", [{"a": ""}, {"a": "b"}], [{"a": "c"}]),
    ("a notin (b,c)", "a notin (b,c)", [{}, {"a": "d"}], [{"a": "b"}]),
    ("a>5", "a>5", [{"a": "6"}], [{}, {"a": "5"}, {"a": "x"}, {"a": "99999999999999999999"}]),
    ("a<5", "a<5", [{"a": "-3"}], [{"a": "5"}]),
    ("z=1,a,!m", "a,!m,z=1", [{"a": "", "z": "1"}], [{"a": "", "z": "1", "m": ""}, {"z": "1"}]),
    ("in=notin", "in=notin", [{"in": "notin"}], [{}]),
    ("ex.io/a=b", "ex.io/a=b", [{"ex.io/a": "b"}], [{"a": "b"}]),
]

LABEL_REFUSALS = [
    ("a,=", "found '=', expected: identifier after ','"),
    ("a,", "found '', expected: identifier after ','"),
    ("=a", "found '=', expected: !, identifier, or 'end of string'"),
    ("!a=b", "found '=', expected: ',' or 'end of string'"),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
    ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
    ("a in b", "unable to parse requirement: found 'b' expected: '('"),
    ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ("a==!", "unable to parse requirement: found '!', expected: identifier"),
    ("!", "unable to parse requirement: found '', expected: identifier"),
    ("a>b", "unable to parse requirement: for 'Gt', 'Lt' operators, the value must be an integer"),
    ("a=b/c", f'unable to parse requirement: invalid label value: "b/c": at key: "a": {LABEL_VALUE_TEXT}'),
]


class LabelSelectorTests(SynchronousTestCase):
    """Label selectors (`parse_labels` and its result)."""

    def test_meaning(self) -> None:
        """Each form selects as in the table, and formats itself canonically."""
        for text, canonical, matching, others in LABELS:
            selector = parse_labels(text)
            self.assertEqual(str(selector), canonical)
            for labels in matching:
                self.assertTrue(selector.matches(labels), f"{text} should match {labels}")
            for labels in others:
                self.assertFalse(selector.matches(labels), f"{text} should not match {labels}")

    def test_no_labels(self) -> None:
        """An object without labels is one with none."""
        self.assertTrue(parse_labels("!a").matches(None))

    def test_refusals(self) -> None:
        """Text that is not a selector is a 400 in the parser's words."""
        for text, message in LABEL_REFUSALS:
            self.assertEqual(self.assertRaises(BadRequest, parse_labels, text).message, message)

    def test_bad_key(self) -> None:
        """A key that is not a qualified name is refused."""
        error = self.assertRaises(BadRequest, parse_labels, "a/b/c=d")
        self.assertIn('unable to parse requirement: invalid label key "a/b/c": a qualified name must', error.message)

    def test_index_terms(self) -> None:
        """An index is offered what every match has: one value, one of some, or the key at all."""
        selector = parse_labels("a=b,c in (d),e in (f,g),h!=i,j,k>1,!l,m notin (n)")
        self.assertEqual(selector.equalities, (("a", "b"), ("c", "d")))
        choices = (("a", ("b",)), ("c", ("d",)), ("e", ("f", "g")), ("j", ()), ("k", ()))
        self.assertEqual(selector.choices, choices)

    def test_hashable(self) -> None:
        """Equal selectors are one key, whatever order they were written in."""
        self.assertEqual({parse_labels("a=b,c"), parse_labels("c,a=b")}, {parse_labels("c, a=b")})

    def test_empty(self) -> None:
        """Empty text selects everything."""
        self.assertTrue(parse_labels("").empty)
        self.assertFalse(parse_labels("a").empty)

    def test_long_selectors_are_not_kept(self) -> None:
        """A selector of any length works."""
        values = ",".join(f"v{number}" for number in range(1000))
        self.assertTrue(parse_labels(f"a in ({values})").matches({"a": "v999"}))


class SelectorObjectTests(SynchronousTestCase):
    """LabelSelector objects in specs."""

    def test_null_and_empty(self) -> None:
        """An absent selector matches nothing, an empty one everything."""
        self.assertFalse(selector_of_object(None).matches({}))
        self.assertFalse(selector_of_object(None).empty)
        self.assertEqual(selector_of_object({}), ALL_LABELS)

    def test_terms(self) -> None:
        """matchLabels and matchExpressions hold together."""
        selector = selector_of_object(
            {
                "matchLabels": {"app": "x"},
                "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["b", "a"]},
                    {"key": "old", "operator": "DoesNotExist"},
                ],
            }
        )
        self.assertEqual(str(selector), "app=x,!old,tier in (a,b)")
        self.assertTrue(selector.matches({"app": "x", "tier": "a"}))
        self.assertFalse(selector.matches({"app": "x", "tier": "a", "old": ""}))

    def test_validation(self) -> None:
        """Values are required for In and forbidden for Exists; operators are the four."""
        selector: dict[str, Any] = {
            "matchExpressions": [
                {"key": "a", "operator": "In"},
                {"key": "a", "operator": "Exists", "values": ["x"]},
                {"key": "a", "operator": "Near"},
            ]
        }
        field = "spec.selector.matchExpressions"
        self.assertEqual(
            validate_selector_object(selector, "spec.selector"),
            [
                Cause(
                    "FieldValueRequired",
                    "Required value: must be specified when `operator` is 'In' or 'NotIn'",
                    f"{field}[0].values",
                ),
                Cause(
                    "FieldValueForbidden",
                    "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                    f"{field}[1].values",
                ),
                Cause(
                    "FieldValueInvalid",
                    'Invalid value: "Near": not a valid selector operator',
                    f"{field}[2].operator",
                ),
            ],
        )


class FieldSelectorTests(SynchronousTestCase):
    """Field selectors (`parse_fields` and its result)."""

    def test_meaning(self) -> None:
        """`=`, `==` and `!=` compare texts; a missing field is empty."""
        selector = parse_fields("spec.nodeName==n1,status.phase!=Failed", POD_FIELDS)
        self.assertTrue(selector.matches({"spec.nodeName": "n1"}))
        self.assertFalse(selector.matches({"spec.nodeName": "n1", "status.phase": "Failed"}))
        self.assertEqual(str(selector), "spec.nodeName=n1,status.phase!=Failed")
        self.assertEqual(selector.equalities, (("spec.nodeName", "n1"),))
        self.assertEqual(selector.fields, ("spec.nodeName", "status.phase"))

    def test_custom(self) -> None:
        """Of custom kinds there are exactly the fields that they have, and no other names (reference READ-22)."""
        selector = parse_fields("metadata.name=a", ("metadata.name",), custom=True)
        self.assertEqual(selector.equalities, (("metadata.name", "a"),))
        for field in ("metadata.namespace", "spec.x"):
            error = self.assertRaises(BadRequest, parse_fields, f"{field}=a", ("metadata.name",), custom=True)
            self.assertEqual(error.message, f"field label not supported: {field}")

    def test_empty(self) -> None:
        """Empty text and empty terms select everything."""
        self.assertEqual(parse_fields("", POD_FIELDS), ALL_FIELDS)
        self.assertEqual(parse_fields(",,", POD_FIELDS), ALL_FIELDS)

    def test_escapes(self) -> None:
        """A backslash makes comma, equals sign and backslash ordinary; nothing else."""
        selector = parse_fields(r"metadata.name=a\,b\=c\\d", GENERIC)
        self.assertEqual(selector.exact("metadata.name"), "a,b=c\\d")
        self.assertEqual(parse_fields(str(selector), GENERIC), selector)
        for text in (r"metadata.name=a\b", "metadata.name=a\\", "metadata.name=a=b"):
            self.assertRaises(BadRequest, parse_fields, text, GENERIC)

    def test_refusals(self) -> None:
        """Each kind refuses fields in its own words."""
        for text, allowed, message in [
            ("xx", GENERIC, "invalid selector: 'xx'; can't understand 'xx'"),
            ("spec.foo=1", POD_FIELDS, "field label not supported: spec.foo"),
            ("metadata.namespace=a", NODE_FIELDS, "field label not supported: metadata.namespace"),
            ("spec.foo=1", JOB_FIELDS, 'field label "spec.foo" not supported for batchv1.Job'),
            (
                "spec.foo=1",
                GENERIC,
                '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
            ),
        ]:
            self.assertEqual(self.assertRaises(BadRequest, parse_fields, text, allowed).message, message)

    def test_aliases(self) -> None:
        """Old and foreign names of a field select by the stored one."""
        self.assertEqual(parse_fields("spec.host=n", POD_FIELDS), FieldSelector((("spec.nodeName", True, "n"),)))
        self.assertEqual(
            parse_fields("regarding.kind=Pod,reportingController=c", EVENT_FIELDS),
            FieldSelector((("involvedObject.kind", True, "Pod"), ("source", True, "c"))),
        )

    def test_with_term(self) -> None:
        """A further term narrows a selector, which itself stays as it was."""
        selector = parse_fields("spec.nodeName=n1", POD_FIELDS)
        self.assertEqual(str(selector.with_term("metadata.name", "p")), "spec.nodeName=n1,metadata.name=p")
        self.assertEqual(str(selector), "spec.nodeName=n1")

    def test_exact(self) -> None:
        """Only an equality names the one value of a field."""
        self.assertEqual(exact_field("metadata.name=a,x=b", "metadata.name"), "a")
        self.assertEqual(exact_field("metadata.name!=a", "metadata.name"), "")


class FieldValueTests(SynchronousTestCase):
    """Values of field selectors (`field_value`)."""

    def test_texts(self) -> None:
        """Values show as text, zeros of numbers and booleans included, absent texts empty (reference READ-25)."""
        cases: list[tuple[Object, str, str]] = [
            ({"metadata": {"name": "a"}}, "metadata.name", "a"),
            ({"type": "Opaque"}, "type", "Opaque"),
            ({"spec": {"unschedulable": True}}, "spec.unschedulable", "true"),
            ({"spec": {}}, "spec.unschedulable", "false"),
            ({"status": {"replicas": 3}}, "status.replicas", "3"),
            ({}, "status.replicas", "0"),
            ({"status": {"succeeded": 2}}, "status.successful", "2"),
            ({"status": {}}, "status.successful", "0"),
            ({"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]}}, "status.podIPs", "10.0.0.1,::1"),
            ({"source": {"component": "c"}, "reportingComponent": "r"}, "source", "c"),
            ({"source": {}, "reportingComponent": "r"}, "source", "r"),
            ({"involvedObject": {"kind": "Pod"}}, "involvedObject.kind", "Pod"),
            ({}, "spec.nodeName", ""),
        ]
        for obj, field, text in cases:
            self.assertEqual(field_value(field)(obj), text, field)
