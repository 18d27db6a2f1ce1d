"""Rules from JSON: what is taken, and what is refused with which text."""
# covers: orchtw.faults.fields

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.faults.decoding import MOST_SEED, RULE_FIELDS, rules_of
from orchtw.faults.fields import MOST_CHARACTERS, MOST_TEXTS
from orchtw.faults.kinds import KINDS, VERBS, WRITES
from orchtw.faults.rule import FaultRule
from tests.properties import examples

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "operating" / "faults.md"
SEED = 42


def decoded(**fields: Any) -> FaultRule:
    """The rule of these fields."""
    (rule,) = rules_of(json.dumps(fields).encode(), lambda: SEED)
    return rule


class TakenTests(SynchronousTestCase):
    """Rules that are taken (`rules_of`)."""

    def test_statuses(self) -> None:
        """A status alone names its fault, a fault alone its status, and both may agree."""
        for status, kind in ((409, "conflict"), (410, "expired"), (429, "throttled"), (500, "failing"),
                             (503, "failing"), (504, "failing")):  # fmt: skip
            self.assertEqual(decoded(status=status).kind, kind)
            self.assertEqual(decoded(status=status, fault=kind).status, status)
        self.assertEqual([decoded(fault=kind).status for kind in ("conflict", "failing", "cut")], [409, 500, 0])

    def test_one_or_several(self) -> None:
        """A field of the selection is one text or a list of them."""
        rule = decoded(status=409, verb="update", resource=["a", "b"], group="", namespace="", name="x")
        selection = rule.selection
        self.assertEqual((selection.verbs, selection.resources), (("update",), ("a", "b")))
        self.assertEqual((selection.groups, selection.namespaces, selection.names), (("",), ("",), ("x",)))

    def test_usual_verbs(self) -> None:
        """A rule without a verb strikes the usual ones of its fault; inside a stream that is the watch."""
        for kind, row in KINDS.items():
            needed = {"seconds": 1} if kind == "late" else {}
            self.assertEqual(decoded(fault=kind, **needed).selection.verbs, row.usual)
        self.assertEqual(decoded(fault="expired", inStream=True).selection.verbs, ("watch",))

    def test_rare_verbs(self) -> None:
        """Verbs that a fault can strike but usually does not have to be named."""
        self.assertEqual(decoded(fault="conflict", verb="create").selection.verbs, ("create",))
        self.assertEqual(decoded(fault="reset", verb="get").selection.verbs, ("get",))

    def test_defaults(self) -> None:
        """Waits and seeds have defaults; a rule that strikes always has no seed."""
        self.assertEqual(decoded(fault="throttled").retry_after_s, 1)
        self.assertEqual(decoded(fault="hanging").seconds, 60.0)
        self.assertEqual((decoded(fault="stale").seconds, decoded(fault="bookmarks").seconds), (None, None))
        self.assertEqual((decoded(status=409).seed, decoded(status=409, probability=0.5).seed), (0, SEED))

    def test_counting(self) -> None:
        """Counts, probability and seed are taken as they are."""
        rule = decoded(status=409, times=2, after=3, gap=4, probability=0.25, seed=5)
        self.assertEqual((rule.times, rule.after, rule.gap, rule.probability, rule.seed), (2, 3, 4, 0.25, 5))

    @examples(100)
    @given(st.sampled_from(sorted(KINDS)), st.integers(1, 9), st.floats(0.1, 0.9), st.integers(0, MOST_SEED))
    def test_shown_again(self, kind: str, times: int, probability: float, seed: int) -> None:
        """The JSON of a rule makes an equal rule."""
        parameters: dict[str, Any] = {"late": {"seconds": 2}, "cut": {"afterEvents": 3}, "reset": {"when": "after"},
                                      "stale": {"revisions": 5}, "expired": {"inStream": True, "afterEvents": 1}}
        more = parameters.get(kind, {})
        rule = decoded(fault=kind, times=times, probability=probability, seed=seed, user="u", **more)
        self.assertEqual(decoded(**rule.to_json()), rule)

    def test_preset(self) -> None:
        """A preset makes several rules of one selection; without a seed one is chosen."""
        fields = {"preset": "chaos", "seed": 7, "user": "u", "resource": "configmaps"}
        rules = rules_of(json.dumps(fields).encode(), lambda: SEED)
        self.assertGreater(len(rules), 3)
        selected = {(rule.selection.users, rule.selection.resources) for rule in rules}
        self.assertEqual(selected, {(("u",), ("configmaps",))})
        expected = rules_of(b'{"preset":"chaos","seed":42}', int)
        self.assertEqual(rules_of(b'{"preset":"chaos"}', lambda: SEED), expected)


class RefusedTests(SynchronousTestCase):
    """Rules that are refused, each with a text that names the field."""

    def refused(self, body: bytes | dict[str, Any], text: str) -> None:
        """The body is a 400 whose text begins so, and is short."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        error = self.assertRaises(BadRequest, rules_of, sent, lambda: SEED)
        self.assertTrue(error.message.startswith(f"fault rule: {text}"), error.message)
        self.assertLess(len(error.message), 2000)

    def test_not_an_object(self) -> None:
        """Other bodies than JSON objects are refused, and so are repeated fields and what is not a JSON value."""
        for body in (b"", b"x", b"\xff", b"{", b"[" * 60_000, b'{"fault":NaN}', b'{"seed":' + b"1" * 5000 + b"}"):
            self.refused(body, "the body is not JSON")
        self.refused(b'{"status":409,"status":410}', 'the body is not JSON: field "status" is repeated')
        for body in (b"[]", b"1", b"null", b'"x"'):
            self.refused(body, "the body must be a JSON object")

    def test_unknown_field(self) -> None:
        """A field that is not known is refused, with those that are."""
        self.refused({"status": 409, "labelSelector": "a=b"}, 'unknown field "labelSelector"; known are after, ')
        self.refused({"status": 409, "x" * 1000: 1}, 'unknown field "xxx')
        self.refused({"preset": "chaos", "verb": "get"}, 'unknown field "verb"; known are group, namespace, preset')

    def test_types(self) -> None:
        """Values of wrong types are refused, and numbers out of range."""
        for fields, text in (
            ({"status": "409"}, "status: must be an integer"), ({"status": True}, "status: must be an integer"),
            ({"status": 404}, "status: must be one of 409, 410, 429, 500, 503, 504"),
            ({"status": 409, "times": 0}, "times: must be an integer from 1"),
            ({"status": 409, "after": -1}, "after: must be an integer from 0"),
            ({"status": 409, "gap": 1.5}, "gap: must be an integer"),
            ({"status": 409, "probability": 0}, "probability: must be a number above 0, at most 1"),
            ({"status": 409, "probability": 1.1}, "probability: must be a number above 0, at most 1"),
            ({"status": 409, "probability": 0.5, "seed": -1}, "seed: must be an integer from 0"),
            ({"status": 409, "probability": 0.5, "seed": 1 << 53}, "seed: must be an integer from 0"),
            ({"status": 409, "user": 1}, "user: must be a non-empty string"),
            ({"status": 409, "user": ""}, "user: must be a non-empty string"),
            ({"status": 409, "user": []}, "user: must be a string, or a list of 1 to"),
            ({"status": 409, "user": ["u"] * (MOST_TEXTS + 1)}, "user: must be a string, or a list of 1 to"),
            ({"status": 409, "user": "u" * (MOST_CHARACTERS + 1)}, "user: must be a non-empty string"),
            ({"status": 409, "message": "x" * (MOST_CHARACTERS + 1)}, "message: must be a non-empty string"),
            ({"status": 410, "inStream": 1}, "inStream: must be true or false"),
            ({"status": 429, "retryAfterSeconds": 0}, "retryAfterSeconds: must be an integer from 1 to 3600"),
            ({"fault": "late", "seconds": 601}, "seconds: must be a number above 0, at most 600"),
            ({"fault": "stale", "revisions": 0}, "revisions: must be an integer from 1"),
            ({"fault": "cut", "afterEvents": -1}, "afterEvents: must be an integer from 0"),
            ({"preset": "order"}, 'preset: "order" is not one of chaos'),
        ):  # fmt: skip
            self.refused(fields, text)

    def test_names(self) -> None:
        """Resources are plurals without a group, and groups and sub-resources are lower-case names."""
        self.refused({"status": 409, "resource": "deployments.apps"}, 'resource: "deployments.apps" contains a dot')
        self.refused({"status": 409, "resource": "ConfigMap"}, 'resource: "ConfigMap" cannot be a resource')
        self.refused({"status": 409, "group": "apps/v1"}, 'group: "apps/v1" cannot be a group')
        self.refused({"status": 409, "subresource": "Status"}, 'subresource: "Status" cannot be a subresource')
        self.refused({"status": 409, "labels": "a=b=c"}, "labels: ")
        self.refused({"status": 409, "verb": "replace"}, 'verb: "replace" is not one of get, list, watch, create')

    def test_contradictions(self) -> None:
        """Fields that exclude each other, or that the fault cannot use, are refused."""
        for fields, text in (
            ({}, "fault or status is required"),
            ({"times": 1}, "fault or status is required"),
            ({"fault": "conflict", "status": 500}, "status: 500 contradicts the fault conflict"),
            ({"fault": "cut", "status": 410}, "status: 410 contradicts the fault cut"),
            ({"status": 409, "verb": "get"}, "verb: the fault conflict cannot strike get here, only create"),
            ({"fault": "cut", "verb": "list"}, "verb: the fault cut cannot strike list here, only watch"),
            ({"fault": "expired", "verb": "list", "inStream": True}, "verb: the fault expired cannot strike list"),
            ({"fault": "reset", "verb": "get", "when": "after"}, "verb: the fault reset cannot strike get here"),
            ({"fault": "expired", "afterEvents": 1}, "afterEvents: is only for rules with inStream"),
            ({"fault": "late"}, "seconds: is required for the fault late"),
            ({"fault": "stale", "seconds": 1, "revisions": 1}, "seconds and revisions cannot both be given"),
            ({"status": 409, "seed": 1}, "seed: is only for rules with a probability below 1"),
            ({"fault": "cut", "labels": "a=b"}, "labels: match requests for one object"),
            ({"status": 429, "verb": ["list", "watch"], "labels": "a=b"}, "labels: match requests for one object"),
            ({"fault": "cut", "subresource": "status"}, "subresource: the fault cut strikes objects"),
            ({"fault": "reset", "when": "during"}, 'when: "during" is not one of before, after'),
        ):  # fmt: skip
            self.refused(fields, text)

    def test_foreign_parameters(self) -> None:
        """Each fault takes its own parameters and refuses those of others."""
        values: dict[str, Any] = {"message": "x", "retryAfterSeconds": 1, "seconds": 1, "revisions": 1,
                                  "inStream": True, "afterEvents": 1, "when": "before"}  # fmt: skip
        for kind, row in KINDS.items():
            for name, value in values.items():
                if name not in row.takes:
                    self.refused({"fault": kind, name: value}, f"{name}: is not for the fault {kind}")

    @examples(300)
    @given(st.dictionaries(st.sampled_from(["fault", "status", "verb", "seconds", "labels", "times", "seed", "x"]),
                           st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                                        lambda inner: st.lists(inner, max_size=3))))  # fmt: skip
    def test_anything(self, fields: dict[str, Any]) -> None:
        """Whatever is sent, the outcome is a rule or a 400."""
        try:
            rules_of(json.dumps(fields).encode(), lambda: SEED)
        except BadRequest:
            pass


class PageTests(SynchronousTestCase):
    """The tables of docs/operating/faults.md."""

    def setUp(self) -> None:
        """Read the rows of both tables, by their first cells."""
        tables = re.split(r"^\|-.*$", PAGE.read_text(), flags=re.M)[1:]
        rows = [re.findall(r"^\| (`.+) \|$", table, re.M) for table in tables]
        self.fields, self.faults = ([row.split(" | ") for row in each] for each in rows)

    def test_fields(self) -> None:
        """Every field of a rule has a row, and no other."""
        shown = [name for first, *_ in self.fields for name in re.findall("`(.+?)`", first)]
        self.assertEqual(sorted(shown), sorted(RULE_FIELDS))

    def test_faults(self) -> None:
        """Every fault has a row with its usual verbs, and no other."""
        shown = {name.strip("`"): verbs for name, _, verbs in self.faults}
        words = {VERBS: "all", WRITES: "writes"}
        self.assertEqual(shown, {name: words.get(kind.usual, ", ".join(kind.usual)) for name, kind in KINDS.items()})
