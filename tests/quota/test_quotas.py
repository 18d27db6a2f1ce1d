"""Fitting of writes into quotas, and the refusals (reference PLUG-28, PLUG-31, PLUG-61)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.quota.amounts import ZERO, amount, amounts, growth, texts, whole
from orchtw.quota.evaluators import Evaluators
from orchtw.quota.quotas import AskedUsage, Limited, Quota, Refused, Standing, Unknown, fit
from orchtw.quota.scopes import Requirement
from orchtw.wire.objects import Object
from tests.properties import examples
from tests.quota.test_evaluators import container, pod

EVALUATORS = Evaluators(Naming.orch())


def quota(name: str, hard: Object, used: Object | None = None, **spec: Any) -> Quota:
    status = {"hard": hard, "used": dict.fromkeys(hard, "0") if used is None else used}
    return Quota.of({"metadata": {"name": name}, "spec": {"hard": hard, **spec}, "status": status})


def asked(
    obj: Object, plural: str = "pods", old: Object | None = None, limited: tuple[Limited, ...] = ()
) -> AskedUsage:
    evaluator = EVALUATORS.of(("", plural))
    assert evaluator is not None
    usage = evaluator.usage(obj)
    used = usage.amounts(0)
    before = None if old is None else evaluator.usage(old)
    grows = growth(used, amounts({}) if before is None else before.amounts(0))
    return AskedUsage(
        evaluator=evaluator, usage=usage, used=used, grows=grows, missing=evaluator.missing(obj), limited=limited,
        before=before,
    )  # fmt: skip


class FitCase(SynchronousTestCase):
    """Holds writes against quotas."""

    def charges(self, write: AskedUsage, *quotas: Quota) -> Object:
        return {name: texts(charge) for name, charge in fit([*map(Standing, quotas)], write).items()}

    def refusal(self, write: AskedUsage, *quotas: Quota) -> str:
        return str(self.assertRaises(Refused, fit, [*map(Standing, quotas)], write))


def claim(wanted: str = "", **status: Any) -> Object:
    spec: Object = {"resources": {"requests": {"storage": "1Gi"}}}
    if wanted:
        spec["volumeAttributesClassName"] = wanted
    return {"metadata": {"name": "c"}, "spec": spec, "status": status}


def of_classes(operator: str, *values: str) -> Object:
    term = {"scopeName": "VolumeAttributesClass", "operator": operator, "values": list(values)}
    return {"matchExpressions": [term]}


class ClaimScopeTests(FitCase):
    """Quotas of claims by their classes of volume attributes (reference PLUG-25)."""

    CLAIMS = "persistentvolumeclaims"

    def charged(self, write: AskedUsage, **spec: Any) -> Object:
        return self.charges(write, quota("q", {"requests.storage": "5Gi"}, **spec))

    def test_operators(self) -> None:
        """A claim matches by the class that it asks for, has, or is on the way to (reference PLUG-25)."""
        gold, plain = asked(claim("gold"), self.CLAIMS), asked(claim(), self.CLAIMS)
        leaving = asked(claim("iron", currentVolumeAttributesClassName="gold"), self.CLAIMS)
        coming = asked(claim(modifyVolumeStatus={"targetVolumeAttributesClassName": "gold"}), self.CLAIMS)
        for selector, matching in (
            (of_classes("In", "gold"), (gold, leaving, coming)),
            (of_classes("NotIn", "gold"), (plain, leaving)),
            (of_classes("Exists"), (gold, leaving, coming)),
            (of_classes("DoesNotExist"), (plain,)),
        ):
            for write in (gold, plain, leaving, coming):
                expected = {"q": {"requests.storage": "1Gi"}} if write in matching else {}
                self.assertEqual(self.charged(write, scopeSelector=selector), expected, selector)
        self.assertEqual(self.charged(gold, scopes=["VolumeAttributesClass"]), {"q": {"requests.storage": "1Gi"}})
        self.assertEqual(self.charged(gold, scopes=["PriorityClass"]), {})
        of_pods = quota("q", {"pods": "1"}, scopeSelector=of_classes("Exists"))
        self.assertEqual(self.charges(asked(pod()), of_pods), {})

    def test_change_of_class(self) -> None:
        """A claim that comes to a class is charged in full, and refused if that is too much (reference PLUG-25)."""
        moved = asked(claim("gold"), self.CLAIMS, claim("iron"))
        stays = asked(claim("gold"), self.CLAIMS, claim("gold"))
        gold = of_classes("In", "gold")
        self.assertEqual(self.charged(moved, scopeSelector=gold), {"q": {"requests.storage": "1Gi"}})
        self.assertEqual(self.charged(stays, scopeSelector=gold), {})
        self.assertIn("exceeded quota: q", self.refusal(moved, quota("q", {self.CLAIMS: "0"}, scopeSelector=gold)))

    def test_limited(self) -> None:
        """A class can be used only where a quota grants it (reference PLUG-31)."""
        rule = Requirement("VolumeAttributesClass", "In", ("gold",))
        limited = (Limited(group="", plural=self.CLAIMS, scopes=(rule,)),)
        why = "insufficient quota to match these scopes: [{VolumeAttributesClass In [gold]}]"
        moved = asked(claim("gold"), self.CLAIMS, claim("iron"), limited)
        for write in (asked(claim("gold"), self.CLAIMS, limited=limited),):
            self.assertEqual(self.refusal(write), why)
        granted = quota("q", {self.CLAIMS: "5"}, scopeSelector=of_classes("In", "gold"))
        self.assertEqual(self.charges(moved, granted), {"q": {self.CLAIMS: "1"}})
        self.assertEqual(self.charges(asked(claim("iron"), self.CLAIMS, limited=limited)), {})


class FitTests(FitCase):
    def test_charges(self) -> None:
        """A write is charged what each quota limits, and no more."""
        write = asked(pod(container({"cpu": "1", "memory": "1Gi"})))
        found = self.charges(write, quota("a", {"pods": "5", "services": "1"}), quota("b", {"requests.cpu": "5"}))
        self.assertEqual(found, {"a": {"pods": "1"}, "b": {"requests.cpu": "1"}})
        self.assertEqual(self.charges(write, quota("a", {"services": "0"})), {})
        self.assertEqual(self.charges(write), {})

    def test_exceeded(self) -> None:
        """Only exceeded resources are shown, in the order of the names; the limit itself may be used up."""
        write = asked(pod(container({"cpu": "2", "memory": "1Gi"})))
        hard = {"requests.cpu": "1", "requests.memory": "1Gi", "pods": "1"}
        self.assertEqual(
            self.refusal(write, quota("rq", hard)),
            "exceeded quota: rq, requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1",
        )
        used = {"requests.cpu": "500m", "requests.memory": "0", "pods": "1"}
        self.assertEqual(
            self.refusal(write, quota("rq", hard, used)),
            "exceeded quota: rq, requested: pods=1,requests.cpu=2, used: pods=1,requests.cpu=500m, "
            "limited: pods=1,requests.cpu=1",
        )
        self.assertEqual(self.charges(write, quota("rq", {"requests.cpu": "2000m"})), {"rq": {"requests.cpu": "2"}})

    def test_missing(self) -> None:
        """Resources that containers must specify are named in order."""
        hard = {"requests.cpu": "1", "limits.memory": "1", "requests.ephemeral-storage": "1"}
        self.assertEqual(
            self.refusal(asked(pod(container())), quota("rq", hard)),
            "failed quota: rq: must specify limits.memory,requests.cpu",
        )

    def test_unknown(self) -> None:
        """Until a quota has been counted nobody knows whether there is room."""
        new = Quota.of({"metadata": {"name": "rq"}, "spec": {"hard": {"pods": "1", "services": "1"}}, "status": {}})
        write = asked(pod(container()))
        unknown = self.assertRaises(Unknown, fit, [Standing(new)], write)
        self.assertEqual(str(unknown), "status unknown for quota: rq, resources: pods")
        partly = quota("rq", {"pods": "1", "count/pods": "1", "secrets": "1"}, {"pods": "0"})
        self.assertEqual(self.refusal(write, partly), "status unknown for quota: rq, resources: count/pods,pods")
        without = quota("rq", {"pods": "1", "secrets": "1"}, {"pods": "0"})
        self.assertEqual(self.charges(write, without), {"rq": {"pods": "1"}})

    def test_scopes(self) -> None:
        """A quota counts objects that match all of its scopes."""
        best_effort = quota("rq", {"pods": "0"}, scopes=["BestEffort"])
        self.assertEqual(self.charges(asked(pod(container({"cpu": "1"}))), best_effort), {})
        self.assertIn("exceeded quota: rq", self.refusal(asked(pod(container())), best_effort))
        both = quota("rq", {"pods": "0"}, scopes=["BestEffort", "Terminating"])
        self.assertEqual(self.charges(asked(pod(container())), both), {})
        term = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
        high = quota("rq", {"pods": "0"}, scopeSelector={"matchExpressions": [term]})
        obj = pod(container())
        self.assertEqual(self.charges(asked(obj), high), {})
        obj["spec"]["priorityClassName"] = "high"
        self.assertIn("exceeded quota: rq", self.refusal(asked(obj), high))

    def test_scopes_of_others(self) -> None:
        """A quota with scopes is one of pods."""
        service = {"metadata": {}, "spec": {"type": "ClusterIP"}}
        scoped = quota("rq", {"services": "0"}, scopes=["BestEffort"])
        self.assertEqual(self.charges(asked(service, "services"), scoped), {})

    def test_updates(self) -> None:
        """An update is charged only for growth; one without growth passes, whatever is used."""
        few = {"metadata": {}, "spec": {"type": "NodePort", "ports": [{}]}}
        many = {"metadata": {}, "spec": {"type": "NodePort", "ports": [{}, {}, {}]}}
        full = quota("rq", {"services": "1", "services.nodeports": "4"}, {"services": "5", "services.nodeports": "2"})
        self.assertEqual(self.charges(asked(many, "services", few), full), {"rq": {"services.nodeports": "2"}})
        self.assertEqual(self.charges(asked(few, "services", many), full), {})
        self.assertIn("exceeded quota: rq, requested: services=1", self.refusal(asked(few, "services"), full))

    def test_negative(self) -> None:
        """Nothing can be asked for that is less than nothing."""
        write = asked(pod(container({"cpu": "-1"})))
        self.assertEqual(self.refusal(write), "quota usage is negative for resource(s): cpu,requests.cpu")


CPUS = st.sampled_from(["0", "1m", "333m", "0.5", "1", "2", "1e1", "7k"])
PODS = st.lists(st.tuples(CPUS, st.booleans()), max_size=30)


class SequenceTests(SynchronousTestCase):
    @examples(200)
    @given(PODS, CPUS, st.integers(0, 20))
    def test_exact(self, pods: list[tuple[str, bool]], cpu: str, count: int) -> None:
        """Whatever is asked for in whatever order, what is used is what was admitted, within the limits."""
        limits = {"requests.cpu": cpu, "pods": str(count)}
        ending_only = quota("ending", {"pods": "3"}, scopes=["Terminating"])
        standings = [Standing(quota("all", limits)), Standing(ending_only)]
        admitted: list[tuple[str, bool]] = []
        for each, ends in pods:
            obj = pod(container({"cpu": each}))
            if ends:
                obj["spec"]["activeDeadlineSeconds"] = 1
            write = asked(obj)
            try:
                charges = fit(standings, write)
            except Refused:
                continue
            admitted.append((each, ends))
            for standing in standings:
                standing.charge(charges.get(standing.quota.name, {}))
        every, ending = standings
        self.assertEqual(every.used("pods"), whole(len(admitted)) if admitted else ZERO)
        self.assertEqual(every.used("requests.cpu").nanos, sum(amount(each).nanos for each, _ in admitted))
        self.assertEqual(ending.used("pods").nanos, whole(sum(ends for _, ends in admitted)).nanos)
        self.assertLessEqual(len(admitted), count)
        self.assertLessEqual(every.used("requests.cpu").nanos, amount(cpu).nanos)
        self.assertLessEqual(sum(ends for _, ends in admitted), 3)


class LimitedTests(FitCase):
    def test_contains(self) -> None:
        """A used resource whose name contains the text needs a quota that limits it; an unused one does not."""
        rule = Limited(group="", plural="pods", contains=(".cpu",))
        write = asked(pod(container({"cpu": "1"})), limited=(rule,))
        for quotas in ((), (quota("rq", {"pods": "1"}),)):
            self.assertEqual(self.refusal(write, *quotas), "insufficient quota to consume: requests.cpu")
        self.assertEqual(self.charges(write, quota("rq", {"requests.cpu": "1"})), {"rq": {"requests.cpu": "1"}})
        self.assertEqual(self.charges(asked(pod(container()), limited=(rule,))), {})

    def test_several(self) -> None:
        """All names are shown, in order."""
        rule = Limited(group="", plural="pods", contains=("pods", "cpu"))
        write = asked(pod(container({"cpu": "1"})), limited=(rule,))
        self.assertEqual(self.refusal(write), "insufficient quota to consume: count/pods,cpu,pods,requests.cpu")

    def test_match_scopes(self) -> None:
        """Pods of a scope need a quota that has it."""
        scope = Requirement("PriorityClass", "In", ("high", "higher"))
        obj = pod(container())
        obj["spec"]["priorityClassName"] = "high"
        write = asked(obj, limited=(Limited(group="", plural="pods", scopes=(scope,)),))
        expected = "insufficient quota to match these scopes: [{PriorityClass In [high higher]}]"
        self.assertEqual(self.refusal(write), expected)
        self.assertEqual(self.refusal(write, quota("rq", {"pods": "1"})), expected)
        term = {"scopeName": "PriorityClass", "operator": "Exists"}
        granted = quota("rq", {"pods": "1"}, scopeSelector={"matchExpressions": [term]})
        self.assertEqual(self.charges(write, granted), {"rq": {"pods": "1"}})
        plain = asked(pod(container()), limited=(Limited(group="", plural="pods", scopes=(scope,)),))
        self.assertEqual(self.charges(plain), {})
