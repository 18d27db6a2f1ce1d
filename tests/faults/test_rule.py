"""Selection of requests by fault rules, and rules as JSON."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.faults.rule import FaultRule, FaultSelection, FaultSubject
from orchtw.request import RequestInfo
from orchtw.rules.request_info import parse
from orchtw.rules.selectors import parse_labels
from tests.properties import examples

FIELDS = {
    "users": "user", "verbs": "verb", "groups": "group", "resources": "resource", "subresources": "subresource",
    "namespaces": "namespace", "names": "name",
}  # fmt: skip
TEXTS = st.sampled_from(["", "a", "b"])
ASKED = st.fixed_dictionaries({**dict.fromkeys(FIELDS.values(), TEXTS), "verb": st.sampled_from(["get", "create"])})
WANTED = st.fixed_dictionaries({name: st.lists(TEXTS, max_size=2).map(tuple) for name in FIELDS})


def info(method: str, path: str, **params: str) -> RequestInfo:
    """The request info of a path below /api/v1, or of a whole one."""
    whole = path if path.startswith("/") else f"/api/v1/namespaces/n/{path}"
    return parse(method, whole, {name: [value] for name, value in params.items()})


class SelectionTests(SynchronousTestCase):
    """Selection by the head of a request and by its object (`FaultSelection`)."""

    @examples(200)
    @given(ASKED, WANTED)
    def test_every_field(self, asked: dict[str, str], wanted: dict[str, Any]) -> None:
        """A request and its object are selected if each field that names something names theirs."""
        selection = FaultSelection(**wanted)
        head = RequestInfo(
            is_resource=True, path="", verb=asked["verb"], group=asked["group"], resource=asked["resource"],
            subresource=asked["subresource"], namespace=asked["namespace"], name=asked["name"],
        )  # fmt: skip
        found = selection.selects_request(asked["user"], head) and selection.selects_object(
            FaultSubject(name=asked["name"])
        )
        expected = all(not texts or asked[FIELDS[name]] in texts for name, texts in wanted.items())
        self.assertEqual(found, expected)

    def test_core_group_and_object_itself(self) -> None:
        """An empty group is the core group, an empty sub-resource the object itself; without either all match."""
        scale = info("GET", "/apis/apps/v1/namespaces/n/deployments/x/scale")
        pod = info("GET", "pods/x")
        for selection, expected in (
            (FaultSelection(), (True, True)),
            (FaultSelection(groups=("",)), (False, True)),
            (FaultSelection(groups=("apps", "")), (True, True)),
            (FaultSelection(subresources=("",)), (False, True)),
            (FaultSelection(subresources=("scale",)), (True, False)),
        ):
            found = tuple(selection.selects_request("u", each) for each in (scale, pod))
            self.assertEqual(found, expected, selection)

    def test_name_of_collection(self) -> None:
        """A list is for one name if its field selector requires it, and for none otherwise."""
        selection = FaultSelection(names=("x",))
        self.assertTrue(selection.selects_request("u", info("GET", "pods", fieldSelector="metadata.name=x")))
        self.assertFalse(selection.selects_request("u", info("GET", "pods")))

    def test_name_of_create(self) -> None:
        """The name of a create is in its body: the head leaves it open, the object decides."""
        selection, create = FaultSelection(names=("x",)), info("POST", "pods")
        self.assertTrue(selection.selects_request("u", create))
        self.assertTrue(selection.asks_object(create))
        self.assertEqual([selection.selects_object(FaultSubject(name=name)) for name in ("x", "y", "")],
                         [True, False, False])  # fmt: skip
        self.assertFalse(selection.asks_object(info("GET", "pods/x")))

    def test_labels(self) -> None:
        """Labels are those of one object: lists, watches and deletecollections are never selected by them."""
        selection = FaultSelection(labels=parse_labels("app=web,tier!=db"))
        for method, path, expected in (
            ("GET", "pods/x", True), ("PUT", "pods/x", True), ("PATCH", "pods/x", True), ("DELETE", "pods/x", True),
            ("POST", "pods", True), ("GET", "pods", False), ("DELETE", "pods", False),
        ):  # fmt: skip
            self.assertEqual(selection.selects_request("u", info(method, path)), expected, (method, path))
        self.assertFalse(selection.selects_request("u", info("GET", "pods", watch="1", labelSelector="app=web")))
        self.assertTrue(selection.asks_object(info("GET", "pods/x")))
        for labels, expected in (({"app": "web"}, True), ({"app": "web", "tier": "db"}, False), ({}, False)):
            self.assertEqual(selection.selects_object(FaultSubject(name="x", labels=labels)), expected, labels)

    def test_without_name(self) -> None:
        """A whole collection may be concerned by a rule for one of its names."""
        selection, other = FaultSelection(names=("x",)), info("GET", "pods/y")
        self.assertFalse(selection.selects_request("u", other))
        self.assertTrue(selection.selects_request("u", other, by_name=False))


class RuleTests(SynchronousTestCase):
    """Properties and JSON of rules (`FaultRule`)."""

    def test_end(self) -> None:
        """Faults that answer, or reset before the write, end the request; those of streams and late ones do not."""
        ends: dict[str, bool] = {
            "conflict": True, "expired": True, "throttled": True, "failing": True, "hanging": True, "reset": True,
            "late": False, "cut": False, "bookmarks": False, "stale": False,
        }  # fmt: skip
        for kind, expected in ends.items():
            self.assertEqual(FaultRule(kind=kind).ends_request, expected, kind)
        self.assertFalse(FaultRule(kind="expired", in_stream=True).ends_request)
        self.assertFalse(FaultRule(kind="reset", when="after").ends_request)

    def test_frozen(self) -> None:
        """A stale state without an age is that of the moment at which the rule was added."""
        rules: list[dict[str, Any]] = [
            {"kind": "stale"}, {"kind": "stale", "seconds": 1.0}, {"kind": "stale", "revisions": 1}, {"kind": "cut"}
        ]  # fmt: skip
        self.assertEqual([FaultRule(**rule).frozen for rule in rules], [True, False, False, False])

    def test_json(self) -> None:
        """The JSON of a rule has what is not at its default, and nothing else."""
        rule = FaultRule(
            kind="throttled", status=429, retry_after_s=2, probability=0.5, seed=7, gap=1, times=3, after=4,
            selection=FaultSelection(groups=("",), names=("x", "y"), labels=parse_labels("a in (b,c),!d")),
        )  # fmt: skip
        self.assertEqual(rule.to_json(), {
            "fault": "throttled", "status": 429, "retryAfterSeconds": 2, "times": 3, "after": 4, "gap": 1,
            "probability": 0.5, "seed": 7, "group": [""], "name": ["x", "y"], "labels": "a in (b,c),!d",
        })  # fmt: skip
        self.assertEqual(FaultRule(kind="cut").to_json(), {"fault": "cut", "afterEvents": 0})
        self.assertEqual(FaultRule(kind="reset").to_json(), {"fault": "reset", "when": "before"})
        self.assertEqual(FaultRule(kind="late", seconds=0.5).to_json(), {"fault": "late", "seconds": 0.5})
