"""The picture of the cluster, filters, scores and the queue as computations (reference SIM-61 to SIM-65)."""
# covers: orchtw.simulation.scheduling.tallies, orchtw.simulation.scheduling.terms
# covers: orchtw.simulation.scheduling.pod_info, orchtw.simulation.scheduling.scores
# covers: orchtw.simulation.scheduling.cycle
# covers: orchtw.simulation.scheduling.pending

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from random import Random
from typing import Any, TypeVar

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.scheduling.cluster import Cluster
from orchtw.simulation.scheduling.cycle import Attempt, Cycle, Surroundings
from orchtw.simulation.scheduling.pending import EVERYTHING, POD_ADDED, POD_GONE, PendingPods
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.scores import scores
from orchtw.simulation.scheduling.tallies import Tallies
from orchtw.simulation.scheduling.terms import Spread
from orchtw.simulation.scheduling.volumes import VolumeSources
from orchtw.wire.objects import Object

T = TypeVar("T")
ZONE = "topology.orch.io/zone"
NOTHING = VolumeSources(lambda key: None, lambda key: None, lambda key: None, lambda name: [], lambda key: 0)


def node(name: str, zone: str = "a", **status: Any) -> Object:
    """Return a node with 10 CPUs and room for 20 pods."""
    allocatable = {"cpu": "10", "memory": "10Gi", "pods": "20", **status}
    labels = {ZONE: zone, "name": name}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": allocatable}}


def pod(name: str, *, on: str = "", labels: Any = None, owner: str = "", **spec: Any) -> PodInfo:
    """Return a pod of namespace a."""
    meta: Object = {
        "name": name, "namespace": "a", "uid": name, "labels": labels or {},
        "creationTimestamp": "2023-01-01T00:00:00Z",
    }  # fmt: skip
    if owner:
        meta["ownerReferences"] = [{"uid": owner, "controller": True}]
    requests = spec.pop("requests", {})
    containers = [{"name": "c", "resources": {"requests": requests}}]
    return PodInfo({"metadata": meta, "spec": {"containers": containers, "nodeName": on, **spec}})


def run(steps: Generator[None, None, T]) -> T:
    """Return the result of steps."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]


def picture(*nodes: Object) -> Cluster:
    """Return a picture with these nodes."""
    cluster = Cluster(lambda name: {}, ZONE)
    for each in nodes:
        cluster.put_node(each)
    return cluster


def _is_named(name: str, found: PodInfo) -> bool:
    return found.name == name


def attempt(cluster: Cluster, wanted: PodInfo) -> Attempt:
    """Return the outcome of one attempt."""
    return run(Cycle(Surroundings(cluster, NOTHING, Naming.orch(), Random(1))).attempt(wanted))


class RequestTests(SynchronousTestCase):
    """Amounts that a pod takes of its node."""

    def test_amounts(self) -> None:
        """CPU counts in thousandths, anything else in whole numbers, rounded up."""
        found = pod("p", requests={"cpu": "1500u", "memory": "1.5", "example.com/gpu": "2"}).requests
        self.assertEqual(found, {"cpu": 2, "memory": 2, "example.com/gpu": 2})

    def test_start(self) -> None:
        """Init containers count if they take more, sidecars always, and the overhead is added."""
        one = {"resources": {"requests": {"cpu": "1"}}}
        init = [{**one, "restartPolicy": "Always"}, {"resources": {"requests": {"cpu": "3"}}}]
        found = pod("p", requests={"cpu": "1"}, initContainers=init, overhead={"cpu": "500m"})
        self.assertEqual(found.requests, {"cpu": 4500})


class PictureTests(SynchronousTestCase):
    """Nodes with what their pods take."""

    def test_amounts(self) -> None:
        """Pods that come and go are counted, on nodes that are not there as well."""
        cluster = picture(node("n"))
        one, two = pod("one", on="n", requests={"cpu": "2"}), pod("two", on="away")
        cluster.add(one)
        cluster.add(two)
        self.assertEqual((cluster.nodes["n"].used["cpu"], len(cluster.nodes), len(cluster.order)), (2000, 2, 1))
        cluster.remove(one)
        cluster.remove(two)
        self.assertEqual((cluster.nodes["n"].used["cpu"], list(cluster.nodes)), (0, ["n"]))

    def test_zones_by_turns(self) -> None:
        """Nodes are looked at zone by zone in turns."""
        cluster = picture(node("a1"), node("a2"), node("b1", "b"), node("b2", "b"))
        self.assertEqual([each.name for each in cluster.order], ["a1", "b1", "a2", "b2"])

    def test_relabelled(self) -> None:
        """Numbers by topology follow the labels of nodes."""
        cluster = picture(node("n", "a"))
        cluster.add(pod("p", on="n", labels={"app": "x"}))
        spread = Spread.of(
            {
                "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "x"}},
            },
            {},
        )  # fmt: skip
        tally = cluster.spread("a", spread)
        self.assertEqual(tally.domain(ZONE), {"a": 1})
        cluster.put_node(node("n", "b"))
        self.assertEqual((tally.domain(ZONE), dict(cluster.domain(ZONE))), ({"b": 1}, {"b": 1}))
        cluster.add(pod("q", on="n", labels={"app": "x"}))
        self.assertEqual(tally.domain(ZONE), {"b": 2})

    def test_news(self) -> None:
        """Only changes that concern scheduling count as news."""
        cluster = picture(node("n"))
        self.assertFalse(cluster.put_node(node("n")))
        self.assertTrue(cluster.put_node(node("n", cpu="11")))


class TallyTests(SynchronousTestCase):
    """Numbers of pods by what they match (reference SIM-62)."""

    def test_limit(self) -> None:
        """Of many tallies those used last are kept, and are up to date."""
        tallies = Tallies(lambda name: {"name": name}, limit=2)
        for key in ("a", "b", "c"):
            tallies.of(key, partial(_is_named, key), list)
        tallies.count(pod("a", on="n"), 1)
        tallies.count(pod("c", on="n"), 1)
        self.assertEqual(tallies.of("c", lambda pod: False, list).domain("name"), {"n": 1})
        self.assertEqual(tallies.of("a", lambda pod: False, list).by_node, {})


class AttemptTests(SynchronousTestCase):
    """Attempts on many nodes."""

    def test_sample(self) -> None:
        """Among many nodes some are compared, and the next attempt goes on behind them."""
        cluster = picture(*(node(f"n{number}") for number in range(300)))
        cycle = Cycle(Surroundings(cluster, NOTHING, Naming.orch(), Random(1)))
        found = [run(cycle.attempt(pod(f"p{number}"))).node for number in range(6)]
        order = [each.name for each in cluster.order]
        places = [order.index(each.name) // 50 for each in found if each is not None]
        self.assertEqual(places, [0, 1, 2, 3, 4, 5])

    def test_all_refused(self) -> None:
        """Every node says why it will not do."""
        cluster = picture(*(node(f"n{number}") for number in range(130)))
        found = attempt(cluster, pod("p", requests={"cpu": "11"}))
        self.assertEqual((found.node, len(found.refusals)), (None, 130))

    def test_min_domains(self) -> None:
        """With fewer domains than asked for, none may have more pods than the skew."""
        cluster = picture(node("n1", "a"), node("n2", "b"))
        labels = {"app": "x"}
        constraint = {
            "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3,
            "labelSelector": {"matchLabels": labels},
        }  # fmt: skip
        for number in (1, 2):
            wanted = pod(f"p{number}", labels=labels, topologySpreadConstraints=[constraint])
            found = attempt(cluster, wanted).node
            assert found is not None
            wanted.node = found.name
            cluster.add(wanted)
        self.assertIsNone(attempt(cluster, pod("p3", labels=labels, topologySpreadConstraints=[constraint])).node)

    def test_policies(self) -> None:
        """Nodes that a pod could not be on do not count for its spread, unless it says that they do."""
        tainted = node("n2", "b")
        tainted["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
        cluster = picture(node("n1", "a"), tainted)
        labels = {"app": "x"}
        cluster.add(pod("old", on="n1", labels=labels))
        constraint = {
            "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": labels},
        }  # fmt: skip
        ignoring = attempt(cluster, pod("p", labels=labels, topologySpreadConstraints=[constraint]))
        self.assertIsNone(ignoring.node)
        honoring = attempt(
            cluster, pod("p", labels=labels, topologySpreadConstraints=[{**constraint, "nodeTaintsPolicy": "Honor"}])
        )
        self.assertEqual(honoring.node.name if honoring.node else "", "n1")


class ScoreTests(SynchronousTestCase):
    """Scores of nodes (reference SIM-65)."""

    def best(self, cluster: Cluster, wanted: PodInfo) -> str:
        found = scores(wanted, cluster.order, cluster)
        return cluster.order[found.index(max(found))].name

    def test_free(self) -> None:
        """The node with most left is best."""
        cluster = picture(node("n1"), node("n2"))
        cluster.add(pod("p", on="n1", requests={"cpu": "5", "memory": "5Gi"}))
        self.assertEqual(self.best(cluster, pod("q")), "n2")

    def test_controller(self) -> None:
        """Pods of one controller are spread over nodes and zones."""
        cluster = picture(node("a1"), node("a2"), node("b1", "b"))
        cluster.add(pod("p", on="a1", owner="r"))
        self.assertEqual(self.best(cluster, pod("q", owner="r")), "b1")

    def test_verdicts_that_nodes_keep(self) -> None:
        """Nodes that have been looked at before refuse and score a pod as nodes that have not."""
        random = Random(7)
        names = [f"n{number}" for number in range(8)]
        sizes: dict[str, dict[str, Any]] = {name: {} for name in names}
        shapes: Sequence[dict[str, str]] = ({}, {"cpu": "1"}, {"cpu": "1", "memory": "2Gi"}, {"example.com/gpu": "1"})
        cluster, there = picture(*(node(name) for name in names)), list[PodInfo]()
        for step in range(150):
            action = random.randrange(4)
            if action == 0 and there:
                cluster.remove(there.pop(random.randrange(len(there))))
            elif action == 1:
                name = random.choice(names)
                sizes[name] = {"cpu": str(random.randrange(1, 9)), "example.com/gpu": str(random.randrange(3))}
                cluster.put_node(node(name, **sizes[name]))
            else:
                there.append(pod(f"p{step}", on=random.choice(names), requests=random.choice(shapes), owner="r"))
                cluster.add(there[-1])
            fresh = picture(*(node(name, **sizes[name]) for name in names))
            for each in there:
                fresh.add(each)
            wanted = pod("wanted", requests=random.choice(shapes), owner="r")
            refusals = [
                {name: refusal.reasons for name, refusal in attempt(each, wanted).refusals.items()}
                for each in (cluster, fresh)
            ]
            self.assertEqual(*refusals)
            self.assertEqual(*(scores(wanted, each.order, each) for each in (cluster, fresh)))

    def test_preferences(self) -> None:
        """Preferred terms about pods count, those of running pods as well."""
        term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "name"}
        near = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
        cluster = picture(node("n1"), node("n2"))
        cluster.add(pod("x", on="n2", labels={"app": "x"}))
        self.assertEqual(self.best(cluster, pod("p", affinity={"podAffinity": near})), "n2")
        self.assertEqual(self.best(cluster, pod("p", affinity={"podAntiAffinity": near})), "n1")
        cluster.add(pod("wish", on="n1", affinity={"podAffinity": near}))
        self.assertEqual(self.best(cluster, pod("x2", labels={"app": "x"})), "n1")


class QueueTests(SynchronousTestCase):
    """Pods that wait for a node (reference SIM-60)."""

    def setUp(self) -> None:
        self.reactor = Clock()
        self.called = 0
        self.queue = PendingPods(SimulationClock(self.reactor, 0.0), self.ready)

    def ready(self) -> None:
        self.called += 1

    def popped(self) -> str:
        found = self.queue.pop()
        return "" if found is None else found.pod.name

    def test_priority(self) -> None:
        """The most important pod comes first, then the oldest."""
        for name, priority in (("a", 0), ("b", 5), ("c", 5)):
            self.queue.add(pod(name, priority=priority))
        self.queue.remove("a/a")
        self.assertEqual([self.popped(), self.popped(), self.popped()], ["b", "c", ""])

    def test_event(self) -> None:
        """A refused pod returns after an event that may help, and after its back-off of one second."""
        self.queue.add(pod("p"))
        pending = self.queue.pop()
        assert pending is not None
        self.queue.failed(pending, frozenset({"NodeResourcesFit"}))
        self.queue.event(POD_ADDED)
        self.assertEqual(self.popped(), "")
        self.reactor.advance(2)
        self.assertEqual(self.popped(), "")
        self.queue.event(POD_GONE)
        self.assertEqual(self.popped(), "p")

    def test_backoff(self) -> None:
        """Each failure doubles the delay, up to ten seconds."""
        self.queue.add(pod("p"))
        waited = []
        for _ in range(6):
            pending = self.queue.pop()
            assert pending is not None
            self.queue.again(pending)
            start = self.reactor.seconds()
            while not self.queue.has_active:
                self.reactor.advance(1)
            waited.append(self.reactor.seconds() - start)
        self.assertEqual(waited, [1, 2, 4, 8, 10, 10])

    def test_flush(self) -> None:
        """A pod is tried again after five minutes without an event."""
        self.queue.add(pod("p"))
        pending = self.queue.pop()
        assert pending is not None
        self.queue.failed(pending, EVERYTHING)
        self.reactor.advance(200)
        self.assertFalse(self.queue.flush())
        self.reactor.advance(101)
        self.assertTrue(self.queue.flush())
        self.assertEqual(self.popped(), "p")
