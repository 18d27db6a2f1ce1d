"""Rules in force: their order, what concerns a request, and what strikes it."""
# covers: orchtw.faults.kinds

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.faults.kinds import KINDS, VERBS
from orchtw.faults.rule import FaultRule, FaultSelection, FaultSubject
from orchtw.faults.rules import MOST_RULES, FaultRules, LiveFault, Strike
from orchtw.request import RequestInfo
from tests.faults.test_rule import info

READ = info("GET", "pods/x")
X = FaultSubject(name="x")


class RulesCase(SynchronousTestCase):
    """Rules with a clock of their own."""

    def setUp(self) -> None:
        self.now = 100.0
        self.begun: list[str] = []
        self.rules = FaultRules(lambda: self.now, ("system:apiserver",), self.begin)

    def begin(self, rule: FaultRule) -> str:
        self.begun.append(rule.kind)
        return f"moment {len(self.begun)}"

    def add(self, kind: str, selection: FaultSelection | None = None, **more: Any) -> LiveFault:
        """Add one rule; returns it in force."""
        (live,) = self.rules.add([FaultRule(kind=kind, selection=selection or FaultSelection(), **more)])
        return live

    def concerning(self, user: str = "u", asked: RequestInfo = READ, *, any_state: bool = False) -> list[str]:
        """The ids of the rules that concern a request."""
        return [live.id for live in self.rules.concerning(user, asked, any_state=any_state)]

    def chosen(self, asked: RequestInfo = READ, subject: FaultSubject = X) -> list[Strike]:
        """The faults that are chosen for a request."""
        return self.rules.choose(self.rules.concerning("u", asked, any_state=False), subject)


class KindTests(SynchronousTestCase):
    """Kinds of faults (`KINDS`)."""

    def test_verbs(self) -> None:
        """The usual verbs of a kind are among those that it can strike, which are verbs."""
        for name, kind in KINDS.items():
            self.assertLessEqual(set(kind.usual), set(kind.verbs), name)
            self.assertLessEqual(set(kind.verbs), set(VERBS), name)


class InForceTests(RulesCase):
    """Adding, finding and removing rules (`FaultRules`)."""

    def test_ids(self) -> None:
        """Each rule has an id of its own, which is not used again."""
        ids = [self.add("late").id, self.add("cut").id]
        self.assertEqual(ids, ["late-1", "cut-2"])
        self.assertEqual([live.id for live in self.rules], ids)
        removed = self.rules.remove("late-1")
        assert removed is not None
        self.assertEqual((removed.id, len(self.rules), self.rules.find("late-1")), ("late-1", 1, None))
        self.assertIsNone(self.rules.remove("late-1"))
        self.assertEqual((self.rules.clear(), list(self.rules)), (1, []))
        self.assertEqual(self.add("late").id, "late-3")

    def test_moment(self) -> None:
        """A rule keeps what its beginning returned, and when that was."""
        live = self.add("stale")
        self.assertEqual((live.moment, live.created_s, live.struck_s), ("moment 1", 100.0, None))
        self.assertEqual(self.begun, ["stale"])

    def test_most(self) -> None:
        """Rules beyond the limit are refused, all of those that come together."""
        self.rules.add([FaultRule(kind="late")] * (MOST_RULES - 1))
        with self.assertRaises(BadRequest):
            self.rules.add([FaultRule(kind="late")] * 2)
        self.assertEqual(len(self.rules), MOST_RULES - 1)

    def test_generation(self) -> None:
        """Each change of the rules makes another generation."""
        seen = [self.rules.generation]
        for change in (lambda: self.add("late"), lambda: self.rules.remove("late-1"), self.rules.clear):
            change()
            self.assertNotIn(self.rules.generation, seen)
            seen.append(self.rules.generation)


class ConcerningTests(RulesCase):
    """Rules that may strike a request, by its head."""

    def test_resources_only(self) -> None:
        """Requests that are not for resources, such as health checks and `/debug`, concern no rule."""
        self.add("late")
        for path in ("/healthz", "/readyz", "/livez", "/metrics", "/debug/faults", "/api/v1", "/openapi/v2"):
            self.assertEqual(self.concerning(asked=info("GET", path)), [], path)
        self.assertEqual(self.concerning(), ["late-1"])

    def test_spared(self) -> None:
        """Users of the server itself are only struck by rules that name them."""
        self.add("late")
        self.add("late", FaultSelection(users=("system:apiserver",)))
        self.assertEqual(self.concerning("system:apiserver"), ["late-2"])
        self.assertEqual(self.concerning("u"), ["late-1"])

    def test_stale(self) -> None:
        """A stale state is for reads of resourceVersion 0, not of sub-resources."""
        self.add("stale")
        self.assertEqual(self.concerning(), [])
        self.assertEqual(self.concerning(any_state=True), ["stale-1"])
        self.assertEqual(self.concerning(asked=info("GET", "pods/x/status"), any_state=True), [])

    def test_exhausted(self) -> None:
        """A rule that has struck as often as it may concerns nothing any more."""
        self.add("late", times=1)
        self.chosen()[0].strike()
        self.assertEqual(self.concerning(), [])


class ChoiceTests(RulesCase):
    """Faults chosen for a request, and their outcome (`Strike`)."""

    def test_order(self) -> None:
        """Rules are asked in their order, up to one that ends the request; the others do not count it."""
        self.add("late", seconds=1.0)
        self.add("conflict", after=1)
        self.add("throttled")
        self.add("failing")
        self.assertEqual([strike.rule for strike in self.chosen()], ["late-1", "throttled-3"])
        self.assertEqual([strike.rule for strike in self.chosen()], ["late-1", "conflict-2"])
        self.assertEqual([live.count.matched for live in self.rules], [2, 2, 1, 0])

    def test_one_of_a_kind(self) -> None:
        """Of one kind a request meets one fault; the second rule does not count it."""
        self.add("late", seconds=1.0)
        self.add("late", seconds=2.0)
        self.assertEqual([strike.rule for strike in self.chosen()], ["late-1"])
        self.assertEqual([live.count.matched for live in self.rules], [1, 0])

    def test_object(self) -> None:
        """A rule for another object does not count the request."""
        self.add("late", FaultSelection(names=("y",)))
        self.assertEqual(self.chosen(info("POST", "pods")), [])
        self.assertEqual([live.count.matched for live in self.rules], [0])
        self.assertEqual(len(self.chosen(info("POST", "pods"), FaultSubject(name="y"))), 1)

    def test_struck(self) -> None:
        """A fault that comes about is counted once, with its time, and reported."""
        live = self.add("late")
        (strike,) = self.chosen()
        told: list[Strike] = []
        strike.when_struck(told.append)
        self.now = 200.0
        for _ in range(2):
            strike.strike()
        strike.release()
        self.assertEqual((live.count.struck, live.struck_s, told), (1, 200.0, [strike]))
        self.assertEqual((strike.rule, strike.kind), ("late-1", "late"))

    def test_released(self) -> None:
        """A fault that did not come about goes back to its rule, once, and cannot come about any more."""
        live = self.add("late", times=1)
        (strike,) = self.chosen()
        self.assertEqual(self.chosen(), [])
        for _ in range(2):
            strike.release()
        strike.strike()
        self.assertEqual((live.count.struck, live.struck_s, len(self.chosen())), (0, None, 1))
        self.assertEqual(self.chosen(), [])

    def test_removed(self) -> None:
        """A fault that was chosen strikes even if its rule is removed meanwhile."""
        live = self.add("late")
        (strike,) = self.chosen()
        self.rules.clear()
        strike.strike()
        self.assertEqual(live.count.struck, 1)
