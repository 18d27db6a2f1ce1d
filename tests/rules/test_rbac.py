"""Rules of roles: what one allows, which cover others, and how missing ones are reported."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.rbac import EVERYTHING, MAX_ATOMS, PolicyRule, TooManyRules, compact, merged, rules_of, uncovered
from tests.properties import examples

VERBS, GROUPS = ("get", "list", "*"), ("", "apps", "*")
RESOURCES = ("pods", "pods/log", "*/log", "pods/*", "nodes", "*", "*/")
NAMES, PATHS = ("a", "b", ""), ("/a", "/a/b", "/a*", "/a/*", "*", "/", "")


def some(values: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """A few of these."""
    return st.lists(st.sampled_from(values), max_size=3).map(tuple)


RULES = st.one_of(
    st.builds(PolicyRule, some(VERBS), some(GROUPS), some(RESOURCES), some(NAMES)),
    st.builds(lambda verbs, paths: PolicyRule(verbs, paths=paths), some(VERBS), some(PATHS)),
)
QUESTIONS = list(product(("get", "list", "x"), ("", "apps", "y"), ("pods", "nodes", "z"), ("", "log", "*")))


def fits(rule: PolicyRule, verb: str, group: str, resource: str, subresource: str) -> bool:
    """Decide a resource request by the letter of the reference."""
    full = f"{resource}/{subresource}" if subresource else resource
    resources = {"*", full} | ({f"*/{subresource}"} if subresource else set())
    return any(
        v in ("*", verb) and g in ("*", group) and r in resources
        for v in rule.verbs for g in rule.groups for r in rule.resources
    )  # fmt: skip


def fits_path(rule: PolicyRule, verb: str, path: str) -> bool:
    """Decide a path request by the letter of the reference."""
    return any(
        v in ("*", verb) and (p in ("*", path) or (p[-1:] == "*" and path[: len(p) - 1] == p[:-1]))
        for v in rule.verbs for p in rule.paths
    )  # fmt: skip


class RuleTests(SynchronousTestCase):
    @given(RULES)
    @examples(100)
    def test_resources(self, rule: PolicyRule) -> None:
        """A rule fits by verb, group and resource; `pods/*` is not a wildcard (reference AUTHZ-17)."""
        for question in QUESTIONS:
            self.assertEqual(rule.allows(*question), fits(rule, *question), question)

    @given(RULES)
    @examples(100)
    def test_paths(self, rule: PolicyRule) -> None:
        """A rule matches a path that it names, or by a prefix before a star (reference AUTHZ-18)."""
        for verb, path in product(("get", "post"), ("/a", "/a/b", "/ab", "/", "/b", "")):
            self.assertEqual(rule.allows_path(verb, path), fits_path(rule, verb, path), (verb, path))

    @given(st.lists(RULES, max_size=5))
    @examples(100)
    def test_merged(self, rules: list[PolicyRule]) -> None:
        """Merged rules allow the same, object by object and path by path (reference AUTHZ-39)."""
        fewer = merged(rules)
        self.assertLessEqual(len(fewer), len(rules))
        for question, name in product(QUESTIONS, ("a", "b", "c", "")):
            before, after = (
                any(each.allows(*question) and (not each.names or name in each.names) for each in several)
                for several in (rules, fewer)
            )
            self.assertEqual(before, after, (question, name))
        for verb, path in product(("get", "post"), ("/a", "/a/b", "/ab", "/", "/b", "")):
            self.assertEqual(*(any(each.allows_path(verb, path) for each in several) for several in (rules, fewer)))

    def test_how_merged(self) -> None:
        """Rules that differ in resources only are one, and so are those that differ in names only."""
        rules = [PolicyRule(("get",), ("",), (f"r{number}",)) for number in range(3)]
        rules += [PolicyRule(("get",), ("",), ("pods",), (f"n{number}",)) for number in range(3)]
        self.assertEqual(merged(rules), (
            PolicyRule(("get",), ("",), ("r0", "r1", "r2")),
            PolicyRule(("get",), ("",), ("pods",), ("n0", "n1", "n2")),
        ))  # fmt: skip

    def test_there_and_back(self) -> None:
        """A rule is as objects have it, without what is empty."""
        obj = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
        self.assertEqual([rule.to_json() for rule in rules_of({"rules": [obj]})], [obj])
        self.assertEqual(rules_of({}), ())


class CoverTests(SynchronousTestCase):
    @given(st.lists(RULES, max_size=3), st.lists(RULES, max_size=2))
    @examples(100)
    def test_nothing_slips_through(self, held: list[PolicyRule], wanted: list[PolicyRule]) -> None:
        """Rules that cover others allow all that those allow, for any name (reference AUTHZ-21)."""
        if uncovered(held, wanted):
            return
        for question, name in product(QUESTIONS, ("a", "b", "c")):
            def may(rules: list[PolicyRule], question: tuple[str, ...] = question, name: str = name) -> bool:
                return any(fits(rule, *question) and (not rule.names or name in rule.names) for rule in rules)

            self.assertTrue(may(held) or not may(wanted), (question, name))
        for verb, path in product(("get", "post"), ("/a", "/a/b", "/ab", "/c", "")):
            may_now = any(fits_path(rule, verb, path) for rule in held)
            self.assertTrue(may_now or not any(fits_path(rule, verb, path) for rule in wanted), (verb, path))

    @given(st.lists(RULES, max_size=3))
    @examples(100)
    def test_held(self, rules: list[PolicyRule]) -> None:
        """A user's rules cover themselves, and an administrator's cover all."""
        self.assertEqual(uncovered(rules, rules), [])
        self.assertEqual(uncovered(EVERYTHING, rules), [])

    def test_one_rule_for_each(self) -> None:
        """Different rules may cover different parts; a star is covered by a star alone (reference AUTHZ-21)."""
        pods = PolicyRule(("get", "list"), ("",), ("pods", "nodes"))
        held = [PolicyRule(("get",), ("",), ("*",)), PolicyRule(("list",), ("",), ("pods",))]
        self.assertEqual(uncovered(held, [pods]), [PolicyRule(("list",), ("",), ("nodes",))])
        self.assertEqual(
            uncovered([pods], [PolicyRule(("*",), ("",), ("pods",))]), [PolicyRule(("*",), ("",), ("pods",))]
        )
        self.assertEqual(
            uncovered([PolicyRule(("get",), ("",), ("*/log",))], [PolicyRule(("get",), ("",), ("pods/log",))]), []
        )

    def test_names(self) -> None:
        """A right to one object does not cover the right to all."""
        one, every = PolicyRule(("get",), ("",), ("pods",), ("a",)), PolicyRule(("get",), ("",), ("pods",))
        self.assertEqual(uncovered([every], [one]), [])
        self.assertEqual(uncovered([one], [every]), [every])

    def test_too_many(self) -> None:
        """Rules that multiply to more than can be compared are refused, not worked on."""
        many = tuple(map(str, range(200)))
        self.assertRaises(TooManyRules, uncovered, [], [PolicyRule(many, many, many)])
        held = [PolicyRule(("get",), ("",), (str(number),)) for number in range(3000)]
        wanted = [PolicyRule(("list",), ("",), (str(number),)) for number in range(3000)]
        self.assertRaises(TooManyRules, uncovered, held, wanted)
        few = tuple(map(str, range(10)))
        self.assertLess(len(uncovered([], [PolicyRule(few, few, few)])), MAX_ATOMS)

    def test_texts(self) -> None:
        """Missing verbs of one resource share a line; names and paths are listed (reference AUTHZ-21)."""
        wanted = [
            PolicyRule(("get", "list"), ("",), ("pods",)),
            PolicyRule(("get",), ("",), ("secrets",), ("a",)),
            PolicyRule(("get", "post"), paths=("/x",)),
        ]
        self.assertEqual(sorted(map(str, compact(uncovered([], wanted)))), [
            '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
            '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}',
            '{NonResourceURLs:["/x"], Verbs:["get"]}',
            '{NonResourceURLs:["/x"], Verbs:["post"]}',
        ])
