"""Rules as operators write them (reference CRD-28)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.custom.rules import Judge, rules_of
from tests.properties import examples
from tests.schema.custom.test_rules import ruled

TEXT, NUMBER, EITHER = {"type": "string", "maxLength": 253}, {"type": "integer"}, {"x-orch-int-or-string": True}
TIME = {"type": "string", "format": "date-time"}


def struct(**properties: Any) -> dict[str, Any]:
    """An object with members."""
    return {"type": "object", "properties": properties}


def listed(items: Any, most: int) -> dict[str, Any]:
    """A list of at most so many."""
    return {"type": "array", "maxItems": most, "items": items}


def mapped(values: Any) -> dict[str, Any]:
    """A map of at most a hundred."""
    return {"type": "object", "maxProperties": 100, "additionalProperties": values}


LISTENERS = listed(struct(name=TEXT, port=NUMBER, protocol=TEXT, hostname=TEXT, tls=struct(mode=TEXT)), 64)
PARENTS = listed(struct(group=TEXT, kind=TEXT, name=TEXT, namespace=TEXT, sectionName=TEXT), 32)
REQUIREMENTS = listed(struct(key=TEXT, operator=TEXT, values=listed(TEXT, 100)), 100)
TIMEOUTS = struct(request=TEXT, backendRequest=TEXT)
CHOICE = struct(a=TEXT, b=TEXT, c=TEXT)
MATCH = struct(type=TEXT, value=TEXT)

WELL_KNOWN: list[tuple[dict[str, Any], str, Any, Any]] = [
    (
        LISTENERS,
        "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
        [{"protocol": "HTTP"}, {"protocol": "TLS", "tls": {}}],
        [{"protocol": "TCP", "tls": {}}],
    ),
    (
        LISTENERS,
        "self.all(l1, self.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && "
        "(has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : "
        "!has(l1.hostname) && !has(l2.hostname))))",
        [{"port": 1, "protocol": "a"}, {"port": 1, "protocol": "a", "hostname": "x"}],
        [{"port": 1, "protocol": "a", "hostname": "x"}, {"port": 1, "protocol": "a", "hostname": "x"}],
    ),
    (
        PARENTS,
        "self.all(p1, self.all(p2, p1.name == p2.name && (((!has(p1.__namespace__) || p1.__namespace__ == '') && "
        "(!has(p2.__namespace__) || p2.__namespace__ == '')) || (has(p1.__namespace__) && has(p2.__namespace__) && "
        "p1.__namespace__ == p2.__namespace__)) ? ((!has(p1.sectionName) || p1.sectionName == '') == "
        "(!has(p2.sectionName) || p2.sectionName == '')) : true))",
        [{"name": "a", "namespace": "n", "sectionName": "x"}, {"name": "a"}],
        [{"name": "a", "namespace": "n", "sectionName": "x"}, {"name": "a", "namespace": "n"}],
    ),
    (
        MATCH,
        "(self.type in ['Exact', 'PathPrefix']) ? "
        """self.value.matches(r'''^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$''') : true""",
        {"type": "Exact", "value": "/a%20b"},
        {"type": "Exact", "value": "/a b"},
    ),
    (
        TIMEOUTS,
        "!(has(self.request) && has(self.backendRequest) && duration(self.request) != duration('0s') && "
        "duration(self.backendRequest) > duration(self.request))",
        {"request": "1m", "backendRequest": "30s"},
        {"request": "1s", "backendRequest": "1500ms"},
    ),
    (
        REQUIREMENTS,
        "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt') ? (x.values.size() == 1 && int(x.values[0]) >= 0) "
        ": true)",
        [{"operator": "Gt", "values": ["5"]}, {"operator": "In", "values": ["a", "b"]}],
        [{"operator": "Lt", "values": ["-1"]}],
    ),
    (mapped(TEXT), "self.all(k, !k.startsWith('x.io/') && !(k in ['a', 'b']))", {"c": ""}, {"x.io/c": ""}),
    (mapped(EITHER), "!('cpu' in self) || self['cpu'] != 0", {"cpu": "1"}, {"cpu": 0}),
    (CHOICE, "[has(self.a), has(self.b), has(self.c)].exists_one(x, x)", {"b": ""}, {"a": "", "c": ""}),
    (CHOICE, "(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) <= 1", {"a": "", "c": ""}, {"a": "", "b": ""}),
    (EITHER, "type(self) == string ? self.matches('^[0-9]+%$') : self >= 0", "10%", -1),
    (EITHER, "type(self) == string ? self.matches('^[0-9]+%$') : self >= 0", 0, "x"),
    (
        struct(start=TIME, end=TIME),
        "self.start < self.end && self.end - self.start <= duration('24h')",
        {"start": "2024-01-01T00:00:00Z", "end": "2024-01-02T00:00:00Z"},
        {"start": "2024-01-01T00:00:00Z", "end": "2024-01-01T00:00:00+01:00"},
    ),
    (
        TEXT,
        "isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname().endsWith('.example')",
        "https://a.example:8443/x",
        "http://a.example",
    ),
    (listed(TEXT, 100), "self.all(x, self.filter(y, x == y).size() == 1)", ["a", "b"], ["a", "a"]),
    (TEXT, "self.split('.').all(p, size(p) < 5) && self.lowerAscii() == self", "ab.cd", "ab.CD"),
]
"""A schema, a rule, a value for which it holds and one for which it does not."""


SET = {**listed(TEXT, 9), "x-orch-list-type": "set"}
KEYED = {**listed(struct(name=TEXT, values=SET), 9), "x-orch-list-type": "map", "x-orch-list-map-keys": ["name"]}
MERGED: list[tuple[dict[str, Any], str, Any, Any]] = [
    (SET, "self + oldSelf == oldSelf + self", [], []),
    (KEYED, "self + oldSelf == oldSelf + self", [], []),
    (mapped(KEYED), "self.all(k, self[k] == oldSelf[k])", {}, {}),
    (struct(a=SET, b=KEYED, start=TIME), "dyn(self) == dyn(oldSelf) && self.a == oldSelf.a", {}, {}),
]
"""The same about lists that are compared in their own way."""

_TEXTS = st.sampled_from(["a", "1m", "10%"])
_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-2, 2), _TEXTS)
_KEYS = st.sampled_from(["name", "type", "value", "port", "start", "end", "request", "operator", "values", "a", "b"])
VALUES = st.recursive(
    _LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4))
)


class WellKnownTests(SynchronousTestCase):
    def test_estimates(self) -> None:
        """Their estimates are within the limit of definitions."""
        for schema, rule, *_ in WELL_KNOWN:
            verdict = Judge(schema, Naming.orch(), names_itself=False).verdict(rule)
            self.assertEqual(verdict.fault, "", rule)
            self.assertLess(verdict.estimate, 10_000_000, rule)

    def test_values(self) -> None:
        """They hold for what they are meant to, and for nothing else."""
        for schema, rule, good, bad in WELL_KNOWN:
            rules = rules_of({"type": "object", "properties": {"a": ruled(schema, rule)}}, Naming.orch())
            assert rules is not None
            self.assertEqual(rules({"a": good}), [], rule)
            self.assertIn("failed rule: ", "".join(each.message for each in rules({"a": bad})), rule)

    @examples(300)
    @given(st.integers(0, len(WELL_KNOWN) + len(MERGED) - 1), VALUES, VALUES)
    def test_any_values(self, number: int, new: Any, old: Any) -> None:
        """Whatever they are held against, they answer causes: values of today and old ones may not fit each other."""
        schema, rule, *_ = (*WELL_KNOWN, *MERGED)[number]
        rules = rules_of({"type": "object", "properties": {"a": ruled(schema, rule)}}, Naming.orch())
        again = rules_of({"type": "object", "properties": {"a": ruled(schema, "self == oldSelf")}}, Naming.orch())
        assert rules is not None and again is not None
        self.assertLessEqual(len(rules({"a": new}, {"a": old})), 1)
        self.assertLessEqual(len(again({"a": new}, {"a": old})), 1)
