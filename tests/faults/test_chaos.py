"""The preset `chaos`: deterministic, and bounded so that progress is always possible."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.faults.chaos import chaos
from orchtw.faults.kinds import KINDS, WRITES
from orchtw.faults.rule import EVERYTHING, FaultSelection, FaultSubject
from orchtw.faults.rules import FaultRules, Strike
from orchtw.request import RequestInfo
from tests.faults.test_rule import info
from tests.properties import examples

SEEDS = st.integers(0, 1 << 40)
X = FaultSubject(name="x")


def met(rules: FaultRules, asked: RequestInfo) -> Sequence[Strike]:
    """The faults of one request, all of which come about."""
    strikes = rules.choose(rules.concerning("u", asked, any_state=False), X)
    for strike in strikes:
        strike.strike()
    return strikes


def rules_of(seed: int) -> FaultRules:
    """The rules of a seed, in force."""
    rules = FaultRules(float)
    rules.add(chaos(seed, EVERYTHING))
    return rules


class ChaosTests(SynchronousTestCase):
    """Rules of the preset (`chaos`)."""

    def test_deterministic(self) -> None:
        """Equal seeds make equal rules, other seeds other ones."""
        self.assertEqual(chaos(1, EVERYTHING), chaos(1, EVERYTHING))
        self.assertEqual(len({chaos(seed, EVERYTHING) for seed in range(50)}), 50)

    def test_selection(self) -> None:
        """The rules keep the selection, each with verbs that its fault can strike."""
        for rule in chaos(3, FaultSelection(users=("u",), namespaces=("n",))):
            self.assertEqual((rule.selection.users, rule.selection.namespaces), (("u",), ("n",)))
            self.assertLessEqual(set(rule.selection.verbs), set(KINDS[rule.kind].verbs))

    @examples(60)
    @given(SEEDS)
    def test_fair(self, seed: int) -> None:
        """No fault loses a stored write, hangs, or answers 5xx; creates and patches meet no conflict."""
        for rule in chaos(seed, EVERYTHING):
            self.assertIn(rule.kind, ("late", "conflict", "throttled", "expired", "cut", "bookmarks"))
            self.assertLessEqual(rule.seconds or 0, 0.2)
            if rule.kind == "conflict":
                self.assertEqual(rule.selection.verbs, ("update",))
            self.assertFalse(rule.kind == "cut" and rule.selection.verbs != ("watch",))

    @examples(60)
    @given(SEEDS, st.sampled_from(WRITES))
    def test_writes_progress(self, seed: int, verb: str) -> None:
        """Of any three requests in a row one passes, and most of a long run."""
        rules, asked = rules_of(seed), RequestInfo(is_resource=True, verb=verb, path="", resource="pods", name="x")
        failed = [any(strike.live.rule.ends_request for strike in met(rules, asked)) for _ in range(200)]
        self.assertFalse(any(all(failed[at : at + 3]) for at in range(len(failed) - 2)))
        self.assertLess(sum(failed), 0.4 * len(failed))

    @examples(60)
    @given(SEEDS)
    def test_watches_progress(self, seed: int) -> None:
        """Two of three watches begin, and each that begins shows an event before it breaks."""
        rules, watch = rules_of(seed), info("GET", "pods", watch="1")
        refused = []
        for _ in range(200):
            strikes = met(rules, watch)
            refused.append(any(strike.live.rule.ends_request for strike in strikes))
            for strike in strikes:
                if strike.kind == "cut" or strike.live.rule.in_stream:
                    self.assertGreaterEqual(strike.live.rule.after_events, 1)
        self.assertFalse(any(sum(refused[at : at + 3]) > 1 for at in range(len(refused) - 2)))

    def test_every_kind_strikes(self) -> None:
        """In a long run each rule strikes."""
        rules = rules_of(5)
        for _ in range(300):
            for asked in (info("PUT", "pods/x"), info("GET", "pods", watch="1")):
                met(rules, asked)
        self.assertEqual([live.id for live in rules if not live.count.struck], [])
