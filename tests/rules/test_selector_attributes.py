"""Selectors of requests in access reviews (reference AUTHZ-42, AUTHZ-43)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.authz.webhook_review import spec_of
from orchtw.request import UserInfo
from orchtw.rules.request_info import parse
from orchtw.rules.selector_attributes import selector_attributes, selector_texts

ANN = UserInfo(name="ann")


class SelectorAttributesTests(SynchronousTestCase):
    def test_requirements(self) -> None:
        """Terms become requirements with a review's operators (reference AUTHZ-42)."""
        found = selector_attributes("spec.nodeName=n,status.phase!=Failed", "a=b,c notin (e,d),f,!g,h>3")
        self.assertEqual(
            found,
            {
                "fieldSelector": {
                    "requirements": [
                        {"key": "spec.nodeName", "operator": "In", "values": ["n"]},
                        {"key": "status.phase", "operator": "NotIn", "values": ["Failed"]},
                    ]
                },
                "labelSelector": {
                    "requirements": [
                        {"key": "a", "operator": "In", "values": ["b"]},
                        {"key": "c", "operator": "NotIn", "values": ["d", "e"]},
                        {"key": "f", "operator": "Exists"},
                        {"key": "g", "operator": "DoesNotExist"},
                    ]
                },
            },
        )

    def test_left_out(self) -> None:
        """Empty and malformed selectors are left out (reference AUTHZ-42)."""
        self.assertEqual(selector_attributes("", ""), {})
        self.assertEqual(selector_attributes("what", "a in"), {})

    def test_review(self) -> None:
        """Only collections have selectors, and only with the gate (reference AUTHZ-42)."""
        params = {"labelSelector": ["a=b"], "fieldSelector": ["metadata.name=x"]}
        for path, method, count in (
            ("/api/v1/pods", "GET", 2),
            ("/api/v1/namespaces/n/pods", "DELETE", 2),
            ("/api/v1/namespaces/n/pods/p", "GET", 0),
            ("/api/v1/namespaces/n/pods", "POST", 0),
        ):
            info = parse(method, path, params)
            attributes = spec_of(ANN, info, "v1", selectors=True)["resourceAttributes"]
            self.assertEqual(sum("Selector" in key for key in attributes), count, path)
            self.assertNotIn("labelSelector", spec_of(ANN, info, "v1")["resourceAttributes"])

    def test_texts(self) -> None:
        """The requirements of a review come back from their text as they were (reference AUTHZ-43)."""
        attributes = {
            "fieldSelector": {
                "requirements": [
                    {"key": "spec.nodeName", "operator": "In", "values": ["a,b=c\\d"]},
                    {"key": "status.phase", "operator": "NotIn", "values": [""]},
                ]
            },
            "labelSelector": {
                "requirements": [
                    {"key": "a", "operator": "In", "values": ["", "b"]},
                    {"key": "c/d", "operator": "NotIn", "values": ["e"]},
                    {"key": "f", "operator": "Exists"},
                    {"key": "in", "operator": "DoesNotExist"},
                ]
            },
        }
        fields, labels, errors = selector_texts(attributes)
        self.assertEqual((selector_attributes(fields, labels), errors), (attributes, []))
        raw = {"fieldSelector": {"rawSelector": "a=b"}, "labelSelector": {"rawSelector": "c in (d)"}}
        self.assertEqual(selector_texts(raw), ("a=b", "c in (d)", []))
        self.assertEqual(selector_texts({}), ("", "", []))

    def test_ignored(self) -> None:
        """A requirement that has no text is ignored, and so is all that cannot be parsed (reference AUTHZ-43)."""
        good = {"key": "a", "operator": "In", "values": ["b"]}
        every = [good] * 300
        for name, requirements, text, how in (
            ("fieldSelector", [good, {**good, "operator": "Like"}], "a=b", "partially ignored"),
            ("fieldSelector", [good, {**good, "values": ["b", "c"]}], "a=b", "partially ignored"),
            ("fieldSelector", [{"key": "a", "operator": "Exists"}], "", "ignored"),
            ("fieldSelector", [{**good, "key": "x=1,y"}], "", "ignored"),
            ("fieldSelector", every, "", "ignored"),
            ("labelSelector", [good, {**good, "operator": "Like"}], "a in (b)", "partially ignored"),
        ):
            fields, labels, errors = selector_texts({name: {"requirements": requirements}})
            self.assertEqual(fields + labels, text, requirements[-1])
            self.assertEqual(errors, [f"spec.resourceAttributes.{name} {how} due to parse error"])
        for name, raw in (("fieldSelector", "a"), ("labelSelector", "a in")):
            errors = [f"spec.resourceAttributes.{name} ignored due to parse error"]
            self.assertEqual(selector_texts({name: {"rawSelector": raw}}), ("", "", errors))
